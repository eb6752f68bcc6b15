package driver

// onPlan switches plan mode. It is guidance: the next step tells the model so, and nothing is enforced. A switch to what is
// the case already changes nothing. Hooks may switch it too, see architecture A3.8.
func (d *Driver) onPlan(in PlanAsked) {
	if d.seen(in.Ref, in.Request, "") || d.closed(in.Ref, "") {
		return
	}
	d.remember(in.Request)
	if d.state.Plan != in.On {
		d.state.Plan = in.On
		d.needs(rulesPeople)
		data := map[string]any{"active": in.On, "by": clip(in.By)}
		d.feature("plan/mode", data)
		d.notify("plan/mode", data)
	}
	d.reply(in.Ref, Receipt{Disposition: Done})
}
