package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import io.grpc.Status;

/** The forms in which clients send the same tensors. */
enum ClientForm {
    JSON {
        @Override
        Object response(Stage stage, RandomTensors tensors, String id) throws Exception {
            try (Http1Client client = stage.http1()) {
                return client.post(CachedStage.PATH, tensors.json(id))
                        .response()
                        .text();
            }
        }
    },
    BINARY {
        @Override
        Object response(Stage stage, RandomTensors tensors, String id) throws Exception {
            BinaryRequest.Body body = tensors.binary(id);
            try (Http1Client client = stage.http1()) {
                return client.post(
                                CachedStage.PATH, body.bytes(), "Inference-Header-Content-Length: " + body.jsonLength())
                        .response()
                        .latin();
            }
        }
    },
    RAW {
        @Override
        Object response(Stage stage, RandomTensors tensors, String id) throws Exception {
            return infer(stage, tensors.raw(id));
        }
    },
    TYPED {
        @Override
        Object response(Stage stage, RandomTensors tensors, String id) throws Exception {
            return infer(stage, tensors.typed(id));
        }
    };

    abstract Object response(Stage stage, RandomTensors tensors, String id) throws Exception;

    private static ModelInferResponse infer(Stage stage, ModelInferRequest request) throws Exception {
        GrpcClient client = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request.toByteArray());
        assertThat(client.status()).isEqualTo(Status.OK);
        return Infer.response(client.response());
    }
}
