package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.PeerKnowledge;
import dev.isthmus.gateway.upstream.PerLoop;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A server that is spoken to in REST over HTTP/1.1, in the clear. Each event loop has its own connections, so that a call
 * never leaves the loop it came on. Cancelling closes the connection, as HTTP/1.1 has no other way. The reply may come
 * before the method returns.
 */
public final class RestUpstream implements Upstream {
    private final UpstreamSettings settings;
    private final UpstreamFailures failures;
    private final RestAnswers answers;
    private final PeerKnowledge knowledge;
    private final PerLoop<ConnectionPool> pools;

    /**
     * A server without connections; the first call of each event loop makes them.
     *
     * @param knowledge shared with the other servers of the upstream
     * @param allocator of the connections' buffers
     */
    public RestUpstream(
            UpstreamSettings settings, PeerKnowledge knowledge, PoolLimits limits, ByteBufAllocator allocator) {
        this(settings, knowledge, limits, allocator, System::nanoTime);
    }

    /** @param nanoTime tells how long connections are idle */
    RestUpstream(
            UpstreamSettings settings,
            PeerKnowledge knowledge,
            PoolLimits limits,
            ByteBufAllocator allocator,
            LongSupplier nanoTime) {
        this.settings = settings;
        this.failures = new UpstreamFailures(settings.name(), settings.ending());
        this.answers = new RestAnswers(failures);
        this.knowledge = knowledge;
        this.pools = new PerLoop<>(
                loop -> ConnectionPool.open(settings, limits, failures, loop, allocator, nanoTime),
                ConnectionPool::close,
                failures::closed);
    }

    @Override
    public String name() {
        return settings.name();
    }

    @Override
    public List<String> extensions() {
        return knowledge.extensions();
    }

    @Override
    public Peer peer() {
        return knowledge.peer(Wire.REST);
    }

    @Override
    public Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        return infer(call, model, "/infer", message, new Inference(), reply);
    }

    private final class Inference implements AnswerReader {
        @Override
        public Answer read(int status, HttpHeaders headers, ByteBuf body) {
            return answers.inference(status, headers, body);
        }

        @Override
        public @Nullable PartReader passed(int status, HttpHeaders headers, long length, Reply reply) {
            return answers.passed(status, headers, length, reply);
        }
    }

    @Override
    public Cancellation inferEvents(Call call, ModelRef model, InferMessage message, Reply reply) {
        if (!knowledge.dialect().eventsOverRest()) {
            return infer(call, model, message, reply);
        }
        return infer(call, model, "/infer_stream", message, new Streamed(call, answers::inference, false), reply);
    }

    @Override
    public Cancellation generate(Call call, Operation.Generate generate, ByteBuf body, Reply reply) {
        AnswerReader document = (status, headers, content) -> answers.document(status, content);
        AnswerReader reader = generate.stream() ? new Streamed(call, document, true) : document;
        String verb = generate.stream() ? "/generate_stream" : "/generate";
        return post(call, () -> ModelPath.of(asked(generate.model())) + verb, body, reader, reply);
    }

    @Override
    public Cancellation manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        AnswerReader reader = (status, headers, content) -> answers.document(status, content);
        if (!manage.change()) {
            body.release();
            return ask(call, () -> ManagePath.of(manage), reader, reply);
        }
        // MLServer wants a body where Triton wants none.
        ByteBuf json = body;
        if (!body.isReadable()) {
            body.release();
            json = Unpooled.copiedBuffer("{}", StandardCharsets.US_ASCII);
        }
        return post(call, () -> ManagePath.of(manage), json, reader, reply);
    }

    /** KServe's server refuses every path with a version. */
    private ModelRef asked(ModelRef model) {
        return knowledge.dialect().versions() ? model : ModelRef.of(model.name());
    }

    /** Reads a stream of events where the server sends one, raw or each as an answer; otherwise the response as a whole. */
    private final class Streamed implements AnswerReader {
        private final Call call;
        private final AnswerReader whole;
        private final boolean raw;

        Streamed(Call call, AnswerReader whole, boolean raw) {
            this.call = call;
            this.whole = whole;
            this.raw = raw;
        }

        @Override
        public Answer read(int status, HttpHeaders headers, ByteBuf body) {
            return whole.read(status, headers, body);
        }

        @Override
        public @Nullable PartReader parts(int status, HttpHeaders headers, Reply reply) {
            String type = headers.get(HttpHeaderNames.CONTENT_TYPE);
            if (status != HttpResponseStatus.OK.code() || type == null || !type.startsWith("text/event-stream")) {
                return null;
            }
            return raw
                    ? new RawEvents(reply)
                    : new EventReader(reply, failures, call.allocator(), settings.maxMessageBytes());
        }
    }

    private record RawEvents(Reply reply) implements PartReader {
        @Override
        public void part(ByteBuf part) {
            if (part.isReadable()) {
                reply.message(new Answer.Events(part));
            } else {
                part.release();
            }
        }

        @Override
        public void release() {}
    }

    private Cancellation infer(
            Call call, ModelRef model, String verb, InferMessage message, AnswerReader reader, Reply reply) {
        Question question;
        try {
            if (!(message instanceof InferMessage.Rest rest)) {
                throw failures.failure(ErrorCode.INTERNAL, "takes REST, got " + message.wire(), null);
            }
            question = Question.infer(ModelPath.of(asked(model)) + verb, call.headers(), rest.body());
        } catch (OipException e) {
            message.release();
            reply.fail(e);
            return Cancellation.NONE;
        }
        return send(call, question, reader, reply);
    }

    @Override
    public Cancellation serverReady(Call call, Reply reply) {
        AnswerReader reader = (status, headers, body) -> answers.serverReady(status, body);
        return ask(call, () -> "/v2/health/ready", reader, reply);
    }

    @Override
    public Cancellation serverMetadata(Call call, Reply reply) {
        return ask(call, () -> "/v2", this::serverMetadata, reply);
    }

    private Answer serverMetadata(int status, HttpHeaders headers, ByteBuf body) {
        Answer.Server server = answers.serverMetadata(status, body);
        knowledge.learn(server.metadata());
        return server;
    }

    @Override
    public Cancellation modelReady(Call call, ModelRef model, Reply reply) {
        AnswerReader reader = (status, headers, body) -> answers.modelReady(model, status, body);
        return askModel(call, model, "/ready", reader, reply);
    }

    @Override
    public Cancellation modelMetadata(Call call, ModelRef model, Reply reply) {
        AnswerReader reader = (status, headers, body) -> answers.modelMetadata(status, body);
        return askModel(call, model, "", reader, reply);
    }

    @Override
    public Cancellation modelNames(Call call, Reply reply) {
        AnswerReader reader = (status, headers, content) -> answers.document(status, content);
        return ask(call, () -> "/v2/models", reader, reply);
    }

    private Cancellation askModel(Call call, ModelRef model, String what, AnswerReader reader, Reply reply) {
        return ask(call, () -> ModelPath.of(asked(model)) + what, reader, reply);
    }

    /** Takes the body. */
    private Cancellation post(Call call, Supplier<String> path, ByteBuf body, AnswerReader reader, Reply reply) {
        Question question;
        try {
            question = Question.json(HttpMethod.POST, path.get(), call.headers(), body);
        } catch (OipException e) {
            body.release();
            reply.fail(e);
            return Cancellation.NONE;
        }
        return send(call, question, reader, reply);
    }

    private Cancellation ask(Call call, Supplier<String> path, AnswerReader reader, Reply reply) {
        Question question;
        try {
            question = Question.get(path.get(), call.headers());
        } catch (OipException e) {
            reply.fail(e);
            return Cancellation.NONE;
        }
        return send(call, question, reader, reply);
    }

    /** Takes the question. */
    private Cancellation send(Call call, Question question, AnswerReader reader, Reply reply) {
        if (!(call.loop() instanceof EventLoop loop)) {
            question.release();
            reply.fail(failures.failure(ErrorCode.INTERNAL, "was called outside of an event loop", null));
            return Cancellation.NONE;
        }
        if (call.hasDeadline()) {
            question.within(settings.nanosLeft(call));
        }
        ConnectionPool pool;
        try {
            pool = pools.of(loop);
        } catch (OipException e) {
            question.release();
            reply.fail(e);
            return Cancellation.NONE;
        }
        Exchange exchange = new Exchange(pool, question, reader, reply, failures, settings, call.memory());
        boolean stream = reader instanceof Streamed;
        exchange.start(loop, stream ? settings.nanosLeftOfStream(call) : settings.nanosLeft(call));
        return exchange;
    }

    @Override
    public void close() {
        pools.close();
    }
}
