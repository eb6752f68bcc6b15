package main

import (
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	clusterName = "active"
	namespace   = "default"

	// retention is how long an ended workflow can still be looked at.
	retention = 30 * 24 * time.Hour
)

// searchAttributes are registered in the namespace, by name.
var searchAttributes = map[string]enumspb.IndexedValueType{
	"AgentStatus":     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"AgentDefinition": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"AgentModel":      enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"AgentParent":     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"AgentWaiting":    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"AgentTurn":       enumspb.INDEXED_VALUE_TYPE_INT,
}

// startServer builds and starts a Temporal server on the reserved ports. Its logger hears of failures it cannot return.
// When it returns, the server listens but may not be ready yet.
func startServer(opts options, p ports, logger log.Logger) (temporal.Server, error) {
	dynamic, err := settings(append(append([]override{}, defaultSettings...), opts.dynamicConfig...))
	if err != nil {
		return nil, err
	}
	store := sqlConfig(opts.database, opts.sync)
	if err := createNamespace(store); err != nil {
		return nil, err
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(serverConfig(p, store)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(p)),
		temporal.WithLogger(logger),
		temporal.WithDynamicConfigClient(dynamic),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
	)
	if err != nil {
		return nil, fmt.Errorf("build the temporal server: %w", err)
	}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the temporal server: %w", err)
	}
	return server, nil
}

// createNamespace registers the namespace with its search attributes, unless the database has it already.
func createNamespace(store *config.SQL) error {
	ns, err := sqlite.NewNamespaceConfig(clusterName, namespace, false, searchAttributes)
	if err != nil {
		return fmt.Errorf("describe namespace %s: %w", namespace, err)
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	if err := sqlite.CreateNamespaces(store, ns); err != nil {
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	return nil
}

func serverConfig(p ports, store *config.SQL) *config.Config {
	return &config.Config{
		Services: services(p),
		Persistence: config.Persistence{
			DefaultStore:     sqliteplugin.PluginName,
			VisibilityStore:  sqliteplugin.PluginName,
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: store}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: p.frontend.Dial()},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: p.frontend.Dial()},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
	}
}

func services(p ports) map[string]config.Service {
	services := map[string]config.Service{
		"frontend": {RPC: config.RPC{GRPCPort: p.frontend.Port(), BindOnIP: p.frontend.IP()}},
	}
	for name, r := range p.internal {
		services[name] = config.Service{RPC: config.RPC{GRPCPort: r.Port(), BindOnIP: r.IP()}}
	}
	return services
}

// staticHosts tells each service where the others are, which saves the gossip that a cluster would need, its ports,
// and the wait for members that a killed server left in the database.
func staticHosts(p ports) map[primitives.ServiceName]static.Hosts {
	hosts := map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(p.frontend.Dial()),
	}
	for name, r := range p.internal {
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(r.Dial())
	}
	return hosts
}
