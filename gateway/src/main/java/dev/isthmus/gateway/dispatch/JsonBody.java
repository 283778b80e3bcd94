package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.AnswerForm;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.NonFinite;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Map;

/**
 * A REST request, read as its parts arrive, so that an upstream sees only what is valid. Where the upstream takes the body as
 * the client sent it and would lose nothing, that is what it gets, and it is the judge of single numbers in it
 * ({@link JsonText}).
 */
final class JsonBody implements RequestBody {
    private final JsonText text;
    private final Transcoder transcoder;
    private final ByteBufAllocator allocator;
    private final ModelRef asked;
    private final long jsonLength;
    private final NonFinite nonFinite;
    private final boolean events;

    /** @param asked the model as the client names it */
    JsonBody(
            Transcoder transcoder,
            ByteBufAllocator allocator,
            ModelRef asked,
            long jsonLength,
            NonFinite nonFinite,
            boolean events,
            Reading reading,
            WireLimits limits) {
        this.text = new JsonText(allocator, asked, jsonLength, reading, limits);
        this.transcoder = transcoder;
        this.allocator = allocator;
        this.asked = asked;
        this.jsonLength = jsonLength;
        this.nonFinite = nonFinite;
        this.events = events;
    }

    @Override
    public void add(ByteBuf chunk) {
        text.add(chunk);
    }

    @Override
    public long held() {
        return text.held();
    }

    @Override
    public void end() {
        text.end();
    }

    @Override
    public Map<String, Parameter> parameters() {
        return text.request().request().parameters();
    }

    @Override
    public String id() {
        return text.request().request().id();
    }

    @Override
    public Prepared prepare(Peer peer, ModelRef model) {
        RestRequest complete = text.request();
        OutputForms wanted = complete.outputForms().with(nonFinite);
        // Binary data has no place in a server-sent event.
        OutputForms outputs = events ? wanted.withoutBinary() : wanted;
        String answered = model.name().equals(asked.name()) ? null : asked.name();
        ByteBuf asItCame = text.text();
        boolean untouched = asItCame != null && AsItCame.goesTo(peer, complete);
        boolean answerUntouched = untouched && nonFinite == NonFinite.TOKEN && outputs.equals(wanted);
        AnswerForm form = new AnswerForm(
                Wire.REST, answerUntouched, outputs, false, complete.request().id(), answered);
        if (asItCame != null && untouched) {
            return new Prepared(new InferMessage.Rest(new RestBody(asItCame, jsonLength)).retained(), form);
        }
        RestRequest full = text.inFull();
        String foreign = full.foreignParameter();
        if (foreign != null) {
            throw OipException.invalid("parameter '" + foreign
                    + "': a string, a number or a boolean is expected in a request "
                    + (jsonLength == RestBody.ALL_JSON ? "to this model" : "with binary data"));
        }
        InferRequest request = full.request().retained().withModel(model);
        return new Prepared(
                transcoder.request(allocator, new InferMessage.Request(request, full.plainInputs()), peer), form);
    }

    @Override
    public void release() {
        text.release();
    }
}
