package deploy

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const password = "only-for-this-test"

func load(ctx context.Context, env ...string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{"../docker-compose.yml"}, cli.WithEnv(env), cli.WithResolvedPaths(true))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(ctx)
}

func project(t *testing.T, env ...string) *types.Project {
	t.Helper()
	p, err := load(t.Context(), append(env, "POSTGRES_PASSWORD="+password)...)
	require.NoError(t, err)
	return p
}

func TestTheFileIsValidAndComplete(t *testing.T) {
	t.Parallel()
	p := project(t)
	require.ElementsMatch(t, []string{"postgres", "schema", "temporal", "namespace", "ui", "worker"}, p.ServiceNames())
	require.NoError(t, p.ForEachService(p.ServiceNames(), func(string, *types.ServiceConfig) error { return nil }), "the dependencies have no cycle")
}

func TestWithoutAPasswordItSaysWhatToSet(t *testing.T) {
	t.Parallel()
	_, err := load(t.Context())
	require.ErrorContains(t, err, "set POSTGRES_PASSWORD")
}

var version = regexp.MustCompile(`^[a-z0-9/-]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?$`)

func TestEveryImageIsPinned(t *testing.T) {
	t.Parallel()
	for name, s := range project(t).Services {
		require.Regexp(t, version, s.Image, name)
	}
}

// The server of development and the one of the compose file are the same version.
func TestTheServerIsTheOneThatIsEmbedded(t *testing.T) {
	t.Parallel()
	mod := module(t, "../devserver/go.mod")
	p := project(t)
	for service, path := range map[string]string{"temporal": "go.temporal.io/server", "schema": "go.temporal.io/server",
		"namespace": "go.temporal.io/server", "ui": "github.com/temporalio/ui-server/v2"} {
		i := slices.IndexFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == path })
		require.GreaterOrEqual(t, i, 0, path)
		require.Equal(t, mod.Require[i].Mod.Version, "v"+tag(p.Services[service].Image), service)
	}
}

func tag(image string) string { return image[strings.LastIndexByte(image, ':')+1:] }

func TestTheOrderOfStart(t *testing.T) {
	t.Parallel()
	p := project(t)
	for _, tt := range []struct{ service, on, condition string }{
		{"schema", "postgres", types.ServiceConditionHealthy},
		{"temporal", "schema", types.ServiceConditionCompletedSuccessfully},
		{"namespace", "temporal", types.ServiceConditionHealthy},
		{"ui", "temporal", types.ServiceConditionHealthy},
		{"worker", "temporal", types.ServiceConditionHealthy},
		{"worker", "namespace", types.ServiceConditionCompletedSuccessfully},
	} {
		require.Equal(t, tt.condition, p.Services[tt.service].DependsOn[tt.on].Condition, "%s on %s", tt.service, tt.on)
		if tt.condition == types.ServiceConditionHealthy {
			require.NotNil(t, p.Services[tt.on].HealthCheck, tt.on)
		}
	}
}

func TestPortsAreOfThisMachineOnly(t *testing.T) {
	t.Parallel()
	for name, s := range project(t).Services {
		for _, port := range s.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, "%s publishes %s", name, port.Published)
		}
	}
}

// Keys come from the environment of whoever starts it, and an unset one is not an empty one.
func TestNoSecretIsInTheFile(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	secret := regexp.MustCompile(`(?im)^\s*[a-z_]*(password|pwd|key|token|secret)[a-z_]*:[ \t]*(\S.*)$`)
	for _, m := range secret.FindAllStringSubmatch(string(raw), -1) {
		require.Contains(t, m[2], "${POSTGRES_PASSWORD:?", "not from the environment: %s", m[0])
	}

	keys := []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"}
	worker := project(t).Services["worker"]
	for _, key := range keys {
		value, declared := worker.Environment[key]
		require.True(t, !declared || value == nil, key)
	}
	worker = project(t, "OPENAI_API_KEY=k").Services["worker"]
	require.Equal(t, "k", *worker.Environment["OPENAI_API_KEY"])
	for _, s := range []string{"postgres", "schema", "temporal"} {
		require.Contains(t, strings.Join(project(t).Services[s].Environment.ToMapping().Values(), " "), password, s)
	}
}

func TestTheWorkerIsConfined(t *testing.T) {
	t.Parallel()
	w := project(t).Services["worker"]
	require.True(t, w.ReadOnly)
	require.Equal(t, []string{"ALL"}, w.CapDrop)
	require.Equal(t, []string{"no-new-privileges:true"}, w.SecurityOpt)
	require.NotNil(t, w.HealthCheck)
	require.Greater(t, time.Duration(*w.StopGracePeriod), 10*time.Minute, "longer than the drain")
	require.Equal(t, "/data", w.Volumes[0].Target)
	require.Equal(t, types.VolumeTypeVolume, w.Volumes[0].Type)
	require.True(t, strings.HasPrefix(*w.Environment["EVERTURN_STORE"], "/data/"))
}

func TestWhatIsMountedIsThere(t *testing.T) {
	t.Parallel()
	for name, s := range project(t).Services {
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				_, err := os.Stat(v.Source)
				require.NoError(t, err, name)
				require.True(t, v.ReadOnly, name)
			}
		}
	}
}

func TestTheDockerfile(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../Dockerfile")
	require.NoError(t, err)
	from := regexp.MustCompile(`(?m)^FROM (\S+)(?: AS (\S+))?$`).FindAllStringSubmatch(string(raw), -1)
	require.Len(t, from, 2)
	require.Equal(t, "build", from[0][2])
	require.Contains(t, string(raw), "COPY --from=build ")
	for _, f := range from {
		require.Regexp(t, version, f[1])
	}
	golang, ok := strings.CutPrefix(from[0][1], "golang:")
	require.True(t, ok)
	golang, _, _ = strings.Cut(golang, "-")
	require.GreaterOrEqual(t, semver.Compare("v"+golang, "v"+module(t, "../go.mod").Go.Version), 0)

	runs := string(raw)[strings.LastIndex(string(raw), "FROM"):]
	user := regexp.MustCompile(`(?m)^USER (\d+):\d+$`).FindStringSubmatch(runs)
	require.NotNil(t, user, "the program does not run as root")
	require.NotEqual(t, "0", user[1])
	require.Contains(t, runs, "chown -R agent:agent /data", "a new volume belongs to the user")
}

func module(t *testing.T, path string) *modfile.File {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	mod, err := modfile.Parse(path, raw, nil)
	require.NoError(t, err)
	return mod
}
