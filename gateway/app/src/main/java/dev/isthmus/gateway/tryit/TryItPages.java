package dev.isthmus.gateway.tryit;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.diagnosis.LiveCalls;
import dev.isthmus.gateway.explain.RouteExplanation;
import dev.isthmus.gateway.openapi.ExampleRequest;
import dev.isthmus.gateway.replay.ReplayClient;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.gateway.tryit.TryItRequest.RequestForm;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.rest.RestRequest;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** What the page asks for: the form of a model, the commands of a request, and one request. Thread-safe. */
public final class TryItPages {
    /** Of the few threads of the admin listener. */
    private static final int AT_ONCE = 2;

    private static final int METADATA_SECONDS = 20;
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

    private final RunningGateway gateway;
    private final LiveCalls timelines;
    private final Semaphore turns = new Semaphore(AT_ONCE);

    /**
     * The gateway whose models are tried.
     *
     * @param addresses the bound addresses of the listeners, in their order
     * @param loop the event loop for a call, any of them
     */
    public record RunningGateway(
            Supplier<GatewayConfig> config,
            Supplier<Catalogue> catalogue,
            Supplier<List<InetSocketAddress>> addresses,
            Supplier<EventLoop> loop) {}

    /** @param timelines notified of each call */
    public TryItPages(RunningGateway gateway, LiveCalls timelines) {
        this.gateway = gateway;
        this.timelines = timelines;
    }

    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/console/try", this::form)
                .change("POST", "/console/try", RouteAccess.OPERATE, "try request", this::send)
                .route(
                        "POST",
                        "/console/try/commands",
                        RouteAccess.DIAGNOSIS,
                        request -> AdminResponse.json(200, commands(request)));
    }

    private AdminResponse form(AdminRequest request) {
        AdminQuery query = AdminQuery.of(request, "model", "version", "host");
        ModelRef model = new ModelRef(query.text("model", ""), query.text("version", ""));
        NameGrammar.checked(model);
        ModelMetadata metadata = metadata(model);
        ObjectNode json = TryItInput.JSON.createObjectNode();
        tensors(json.putArray("inputs"), metadata.inputs());
        tensors(json.putArray("outputs"), metadata.outputs());
        ArrayNode versions = json.putArray("versions");
        metadata.versions().forEach(versions::add);
        ExampleRequest example = ExampleRequest.of(metadata, TryItInput.MAX_ZEROS);
        json.put("platform", metadata.platform()).put("obstacle", example.obstacle());
        if (example.document().isPresent()) {
            URI url = listener().from(query.text("host", ""));
            ObjectNode commands = json.putObject("commands");
            for (RequestForm form : RequestForm.values()) {
                commands.set(form.label(), commands(TryItRequest.example(model, form, metadata), url));
            }
        }
        return AdminResponse.json(200, json);
    }

    private static void tensors(ArrayNode into, List<TensorMetadata> tensors) {
        for (TensorMetadata tensor : tensors) {
            ObjectNode node = into.addObject().put("name", tensor.name()).put("datatype", tensor.dataType());
            shape(node.putArray("declared"), tensor.shape());
            shape(node.putArray("shape"), ExampleRequest.shape(tensor.shape()));
        }
    }

    private static void shape(ArrayNode into, Shape shape) {
        shape.toList().forEach(into::add);
    }

    private ModelMetadata metadata(ModelRef model) {
        CompletableFuture<ReplyMessage> found = new CompletableFuture<>();
        EventLoop loop = gateway.loop().get();
        loop.execute(() -> {
            Call call = new Call(new Operation.ReadModelMetadata(model), Call.NO_DEADLINE, Map.of(), loop, ALLOCATOR);
            try {
                gateway.catalogue().get().modelMetadata(call, model, new ReplayClient.AwaitedReply(found));
            } catch (OipException unknown) {
                found.completeExceptionally(unknown);
            }
        });
        return ((ReplyMessage.Model) await(found, METADATA_SECONDS, "the model's metadata")).metadata();
    }

    static <T> T await(CompletableFuture<T> future, int seconds, String what) {
        try {
            return future.get(seconds, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new OipException(ErrorCode.DEADLINE_EXCEEDED, what + ": no answer within " + seconds + " s", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof OipException failure) {
                throw failure;
            }
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new OipException(ErrorCode.CANCELLED, "the gateway is shutting down", e);
        }
    }

    private OwnListener listener() {
        return OwnListener.first(
                gateway.config().get().listeners(), gateway.addresses().get());
    }

    private ObjectNode commands(AdminRequest request) {
        String host = AdminQuery.of(request, "host").text("host", "");
        return commands(TryItRequest.parse(request.body()), listener().from(host));
    }

    private static ObjectNode commands(TryItRequest tried, URI url) {
        RestRequest decoded = tried.decoded();
        try {
            return new RequestCommands(tried, url).document(decoded.request());
        } finally {
            decoded.request().release();
        }
    }

    private AdminResponse send(AdminRequest request) {
        TryItRequest tried = TryItRequest.parse(request.body());
        OwnListener listener = listener();
        RestRequest decoded = tried.decoded();
        ObjectNode answer;
        if (!turns.tryAcquire()) {
            decoded.request().release();
            throw new OipException(
                    ErrorCode.UNAVAILABLE, "at most " + AT_ONCE + " requests are tried at a time; try again");
        }
        try {
            answer = new TryItCall(tried, listener, HexIds.random128().toString(), timelines).send(decoded);
        } finally {
            turns.release();
        }
        ArrayNode lines = answer.putArray("explain");
        explanation(tried).forEach(lines::add);
        return AdminResponse.json(200, answer)
                .changed(AuditedChange.done("try request", tried.model().name(), "", ""));
    }

    private List<String> explanation(TryItRequest tried) {
        String version = tried.model().version();
        return new RouteExplanation(
                        gateway.config().get(),
                        new RouteExplanation.ExplainedCall(
                                tried.model().name(), version.isEmpty() ? null : version, tried.headers(), Map.of()))
                .lines();
    }
}
