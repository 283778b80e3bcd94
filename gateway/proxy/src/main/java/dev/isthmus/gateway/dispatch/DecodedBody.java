package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.rest.Base64Inputs;
import io.netty.buffer.ByteBufAllocator;
import java.util.Set;
import java.util.function.Consumer;

/**
 * A request in the form of no server.
 *
 * @param message owned by the receiver
 * @param form the form in which the client wants the response
 * @param base64Texts the names of the inputs left in base64, because the server that it was decoded for decodes it
 */
record DecodedBody(InferMessage.DecodedRequest message, ResponseForm form, Set<String> base64Texts) {

    DecodedBody(InferMessage.DecodedRequest message, ResponseForm form) {
        this(message, form, Set.of());
    }

    InferRequest request() {
        return message.request();
    }

    /** Shows its outline to a receiver that may refuse it: it is then released. */
    void show(Consumer<RequestOutline> shown) {
        try {
            shown.accept(RequestOutline.of(request()));
        } catch (RuntimeException refused) {
            message.release();
            throw refused;
        }
    }

    /** The same with another request (taken); this one is owned by another. */
    DecodedBody with(InferRequest changed) {
        return new DecodedBody(new InferMessage.DecodedRequest(changed, message.plainInputs()), form, base64Texts);
    }

    /**
     * The same for another target; shares the tensors' memory.
     *
     * @param requested the model as the client names it
     */
    DecodedBody retained(ModelRef model, ModelRef requested) {
        InferRequest own = request().retained().withModel(model);
        return new DecodedBody(
                new InferMessage.DecodedRequest(own, message.plainInputs()), formOf(model, requested), base64Texts);
    }

    /**
     * The form in which the client wants the response of a target.
     *
     * @param requested the model as the client names it
     */
    ResponseForm formOf(ModelRef model, ModelRef requested) {
        return form.withModel(model.name().equals(requested.name()) ? null : requested.name());
    }

    /** This request (taken) in the form of a server. */
    RequestBody.UpstreamMessage encoded(Transcoder transcoder, ByteBufAllocator allocator, ServerFeatures peer) {
        InferMessage sent = peer.dialect().base64()
                ? message
                : with(Base64Inputs.decoded(allocator, request(), base64Texts)).message();
        return new RequestBody.UpstreamMessage(transcoder.request(allocator, sent, peer), form);
    }
}
