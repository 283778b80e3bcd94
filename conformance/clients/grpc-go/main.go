// One ModelStreamInfer call: sends one message and counts the responses.
// Usage: stream ADDRESS REQUEST_FILE      prints the number of responses; fails if the call fails or a response is an error
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const method = "/inference.GRPCInferenceService/ModelStreamInfer"

// The tag of ModelStreamInferResponse.infer_response; error_message has another.
const inferResponse = 2<<3 | 2

// raw is a codec that passes messages through as bytes.
type raw struct{}

func (raw) Marshal(message any) ([]byte, error)      { return *message.(*[]byte), nil }
func (raw) Unmarshal(bytes []byte, message any) error { *message.(*[]byte) = bytes; return nil }
func (raw) Name() string                              { return "proto" }

func main() {
	request, err := os.ReadFile(os.Args[2])
	check(err)
	connection, err := grpc.Dial(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	defer connection.Close()
	description := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	stream, err := connection.NewStream(context.Background(), description, method, grpc.ForceCodec(raw{}))
	check(err)
	check(stream.SendMsg(&request))
	check(stream.CloseSend())
	answers := 0
	for {
		var answer []byte
		err := stream.RecvMsg(&answer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatalf("%v after %d answers", err, answers)
		}
		if answer[0] != inferResponse {
			log.Fatalf("%q", answer)
		}
		answers++
	}
	fmt.Println(answers)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
