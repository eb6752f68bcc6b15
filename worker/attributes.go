package worker

import (
	"context"

	"github.com/everturn/everturn/signals"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
)

// attributes are the search attributes of an agent.
var attributes = map[string]enumspb.IndexedValueType{
	signals.AttrStatus:     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	signals.AttrDefinition: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	signals.AttrModel:      enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	signals.AttrParent:     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	signals.AttrWaiting:    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	signals.AttrTurn:       enumspb.INDEXED_VALUE_TYPE_INT,
}

// attributesRegistered reports whether agents may use their search attributes on this server. Using one that is not
// registered would fail every workflow task; so missing ones are registered, and if that is not allowed here, agents go
// without.
func attributesRegistered(ctx context.Context, c client.Client, namespace string) (bool, error) {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return false, err
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, kind := range attributes {
		if have.GetCustomAttributes()[name] != kind {
			missing[name] = kind
		}
	}
	if len(missing) == 0 {
		return true, nil
	}
	// A server that does not let workers register attributes is fine; and freshly added ones take a while to reach every
	// part of the server. Either way, births until the next start go without.
	_, _ = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	return false, nil
}
