// Command opa answers Envoy's ext_authz over gRPC by a policy of Open Policy Agent: its engine, with the types that are generated from
// Envoy's API. What the policy sees and says is as with OPA's own plugin for Envoy.
// Usage: opa ADDRESS POLICY; the rule is envoy/authz/allow.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"os"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/open-policy-agent/opa/v1/rego"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

type server struct {
	auth.UnimplementedAuthorizationServer
	query rego.PreparedEvalQuery
}

func (s *server) Check(ctx context.Context, request *auth.CheckRequest) (*auth.CheckResponse, error) {
	text, err := protojson.Marshal(request)
	if err != nil {
		return nil, err
	}
	var input any
	if err := json.Unmarshal(text, &input); err != nil {
		return nil, err
	}
	results, err := s.query.Eval(ctx, rego.EvalInput(input))
	if err != nil {
		return nil, err
	}
	response := &auth.CheckResponse{Status: &status.Status{Code: int32(codes.PermissionDenied)}}
	if len(results) == 0 {
		return response, nil
	}
	switch decision := results[0].Expressions[0].Value.(type) {
	case bool:
		allow(response, decision)
	case map[string]any:
		allowed, _ := decision["allowed"].(bool)
		allow(response, allowed)
		if metadata, ok := decision["dynamic_metadata"].(map[string]any); ok {
			plain, err := json.Marshal(metadata)
			if err != nil {
				return nil, err
			}
			response.DynamicMetadata = &structpb.Struct{}
			if err := protojson.Unmarshal(plain, response.DynamicMetadata); err != nil {
				return nil, err
			}
		}
	}
	return response, nil
}

func allow(response *auth.CheckResponse, allowed bool) {
	if allowed {
		response.Status.Code = int32(codes.OK)
	}
}

func main() {
	query, err := rego.New(rego.Query("data.envoy.authz.allow"), rego.Load(os.Args[2:3], nil)).PrepareForEval(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	service := grpc.NewServer()
	auth.RegisterAuthorizationServer(service, &server{query: query})
	log.Fatal(service.Serve(listener))
}
