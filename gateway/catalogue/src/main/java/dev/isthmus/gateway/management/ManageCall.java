package dev.isthmus.gateway.management;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ContainerNode;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.Catalogue.IndexRequest;
import dev.isthmus.gateway.catalogue.FanOutResult;
import dev.isthmus.gateway.catalogue.FanOutResult.ServerOutcome;
import dev.isthmus.gateway.catalogue.IndexListing;
import dev.isthmus.gateway.catalogue.MergedStatistics;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.catalogue.RepositoryIndex;
import dev.isthmus.gateway.catalogue.RepositoryUpstreams;
import dev.isthmus.gateway.catalogue.ServerId;
import dev.isthmus.gateway.dispatch.PassThroughBody;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.extension.FanOut;
import dev.isthmus.gateway.extension.ManagementJson;
import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.management.ManageFanOut.FanOutTarget;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.RepositoryModelLoadResponse;
import dev.isthmus.proto.RepositoryModelUnloadResponse;
import dev.isthmus.transcoder.json.JsonCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The management extensions of a fleet: index and statistics of several servers are merged, load and unload go to every
 * server of the model, everything else to one. The response of a single server is forwarded unchanged.
 */
public record ManageCall(ModelLocations locations, Catalogue catalogue, WireLimits limits, AccessPolicy policy) {
    private static final Logger LOG = LoggerFactory.getLogger(ManageCall.class);
    /** For requests about the server. */
    private static final ModelRef NO_MODEL = ModelRef.of("");

    /** Requests a server's index over whichever protocol it speaks. */
    public static final IndexRequest INDEX = (call, server, reply) -> {
        var index = new Operation.Manage(Extension.REPOSITORY_INDEX, NO_MODEL, "", true, false, false);
        new ManageBridge(index, server, reply).send(call, Unpooled.EMPTY_BUFFER);
    };

    RequestSink open(Call call, Operation.Manage manage, Reply reply) {
        return switch (manage.extension().fanOut()) {
            case ONE_SERVER, ONE_READY_SERVER -> single(call, manage, reply);
            case MERGED_INDEX -> index(call, manage, visible(call, manage, reply));
            case SUMMED_STATISTICS -> statistics(call, manage, visible(call, manage, reply));
            case EVERY_SERVER -> change(call, manage, reply);
        };
    }

    /** The reply to a request for a list of models: those that are routed and that the caller may ask for. */
    private Reply visible(Call call, Operation.Manage manage, Reply reply) {
        boolean all = policy.showsAllModels() && locations.defaultUpstream().isPresent();
        return all || !manage.model().name().isEmpty()
                ? reply
                : new VisibleModelsReply(
                        manage,
                        model -> locations.routes(model)
                                && policy.onModel(
                                                call.context(),
                                                manage.extension().permission(),
                                                model)
                                        .allowed(),
                        reply);
    }

    /** An operation on one server: the default upstream, or the model's first target. */
    private RequestSink single(Call call, Operation.Manage manage, Reply reply) {
        if (manage.model().name().isEmpty()) {
            return passed(call, manage, ofServer(manage), NO_MODEL, reply);
        }
        Target target = locations.of(manage.model()).targets().getFirst();
        Upstream upstream = manage.extension().fanOut() == FanOut.ONE_READY_SERVER
                ? readyServer(target.upstream())
                : target.upstream();
        return passed(call, manage, upstream, target.model(), reply);
    }

    private Upstream readyServer(Upstream upstream) {
        return catalogue.members(upstream).stream()
                .filter(ReplicaStatus::ready)
                .map(ReplicaStatus::server)
                .findFirst()
                .orElse(upstream);
    }

    private Upstream ofServer(Operation.Manage manage) {
        return locations
                .defaultUpstream()
                .orElseThrow(() -> new OipException(
                        ErrorCode.UNIMPLEMENTED,
                        manage.extension() + " without a model requires a default upstream, and none is configured"));
    }

    /**
     * Forwards the operation to one server.
     *
     * @param model the model's name there
     */
    private RequestSink passed(Call call, Operation.Manage manage, Upstream upstream, ModelRef model, Reply reply) {
        if (manage.extension().sharedMemory() && !upstream.peer().sharedMemory()) {
            throw OipException.invalid("shared memory is not enabled for upstream '" + upstream.name() + "'")
                    .confidential();
        }
        ManageBridge bridge = new ManageBridge(manage.to(model), upstream, reply);
        if (manage.json() || model.equals(manage.model())) {
            return new PassThroughBody(call.allocator(), check(manage), reply, body -> bridge.send(call, body));
        }
        return read(
                call,
                manage,
                reply,
                content -> bridge.send(call, manage.extension().renamed(content, model)));
    }

    private RequestSink index(Call call, Operation.Manage manage, Reply reply) {
        List<FanOutTarget> servers = servers(catalogue.repositories());
        if (servers.isEmpty()) {
            return passed(call, manage, ofServer(manage), NO_MODEL, reply);
        }
        Upstream first = servers.getFirst().member().server();
        if (servers.size() == 1
                && !catalogue.renames()
                && RepositoryUpstreams.indexed(first)
                && locations
                        .defaultUpstream()
                        .filter(other -> !other.name().equals(first.name()))
                        .isEmpty()) {
            return passed(call, manage, first, NO_MODEL, reply);
        }
        if (manage.resource().isEmpty()) {
            return read(call, manage, reply, content -> {
                boolean ready = readyOnly(content);
                return catalogue.index(call, reply, index -> deliver(manage, index, ready, reply));
            });
        }
        List<FanOutTarget> selected = servers.stream()
                .filter(server -> RepositoryUpstreams.indexed(server.member().server()))
                .toList();
        return read(call, manage, reply, content -> {
            boolean ready = readyOnly(content);
            return new ManageFanOut(call, manage, content, selected, replies -> {
                        var listings = replies.stream().map(ManageCall::listing).toList();
                        deliver(manage, RepositoryIndex.of(listings), ready, reply);
                    })
                    .begin();
        });
    }

    private static boolean readyOnly(ByteBuf content) {
        try {
            return RepositoryIndexRequest.parseFrom(content.nioBuffer()).getReady();
        } catch (InvalidProtocolBufferException e) {
            throw ManagementJson.malformed(e);
        }
    }

    private static IndexListing listing(ManageFanOut.ServerReply reply) {
        ServerId source = reply.server().source();
        OipException failure = reply.failure();
        if (failure != null) {
            return new IndexListing.FailedListing(source, failure);
        }
        try {
            return IndexListing.of(source, RepositoryIndexResponse.parseFrom(reply.content()));
        } catch (InvalidProtocolBufferException e) {
            return new IndexListing.FailedListing(source, invalidResponse(reply, e));
        }
    }

    private static void deliver(Operation.Manage manage, RepositoryIndex index, boolean readyOnly, Reply reply) {
        index.failure().ifPresentOrElse(reply::fail, () -> deliver(manage, index.response(readyOnly), reply));
    }

    /** Load and unload: on every server of the model that supports them. */
    private RequestSink change(Call call, Operation.Manage manage, Reply reply) {
        List<Target> targets = locations.of(manage.model()).targets();
        List<FanOutTarget> servers = FanOutTarget.ofAllVersions(servers(targets, RepositoryUpstreams::loads));
        Reply hooked = new ChangeReply(call, manage, targets, catalogue, reply);
        if (isSingleServer(servers, manage)) {
            return passed(call, manage, servers.getFirst().member().server(), manage.model(), hooked);
        }
        String operation =
                manage.extension().verb() + " of model '" + manage.model().name() + "'";
        return sent(call, manage, servers, reply, outcomes -> report(call, operation, outcomes, hooked));
    }

    /** Whether there is only one server, and its name for the model is the client's. */
    private static boolean isSingleServer(List<FanOutTarget> servers, Operation.Manage manage) {
        return servers.size() == 1 && servers.getFirst().model().equals(manage.model());
    }

    private static void report(Call call, String operation, List<ManageFanOut.ServerReply> replies, Reply reply) {
        List<ServerOutcome> outcomes = replies.stream()
                .map(each -> new ServerOutcome(each.server().source(), each.failure()))
                .toList();
        // Clients are told how many servers of which upstream, and never their addresses.
        outcomes.forEach(each -> log(call, operation, each));
        new FanOutResult(operation, outcomes)
                .failure()
                .ifPresentOrElse(reply::fail, () -> reply.only(new ReplyMessage.Document(Unpooled.EMPTY_BUFFER)));
    }

    private static void log(Call call, String operation, ServerOutcome outcome) {
        OipException failure = outcome.failure();
        if (failure != null) {
            CallLog.of(RepeatingLogEvent.warn(LOG), call.context())
                    .addKeyValue("upstream", outcome.source().upstream())
                    .addKeyValue("server", outcome.source().label())
                    .log(
                            "{} failed on {} of upstream '{}': {}: {}",
                            operation,
                            outcome.source().label(),
                            outcome.source().upstream(),
                            failure.code(),
                            failure.message());
        }
    }

    private RequestSink statistics(Call call, Operation.Manage manage, Reply reply) {
        String extension = manage.extension().advertisedName();
        List<FanOutTarget> servers;
        if (manage.model().name().isEmpty()) {
            servers = servers(catalogue.upstreams().stream()
                    .filter(upstream -> upstream.extensions().contains(extension))
                    .toList());
        } else {
            List<Target> able = locations.of(manage.model()).targets().stream()
                    .filter(target -> target.upstream().extensions().isEmpty()
                            || target.upstream().extensions().contains(extension))
                    .toList();
            if (able.isEmpty()) {
                throw new OipException(
                        ErrorCode.UNIMPLEMENTED,
                        "the servers of model '" + manage.model().name() + "' do not serve " + extension);
            }
            servers = FanOutTarget.withoutParts(servers(able, target -> true));
        }
        if (servers.isEmpty()) {
            return passed(call, manage, ofServer(manage), NO_MODEL, reply);
        }
        if (isSingleServer(servers, manage)) {
            return passed(call, manage, servers.getFirst().member().server(), manage.model(), reply);
        }
        return sent(call, manage, servers, reply, replies -> sum(manage, replies, reply));
    }

    /** Sends the operation to all of these servers. */
    private RequestSink sent(
            Call call,
            Operation.Manage manage,
            List<FanOutTarget> servers,
            Reply reply,
            Consumer<List<ManageFanOut.ServerReply>> then) {
        return read(call, manage, reply, content -> new ManageFanOut(call, manage, content, servers, then).begin());
    }

    /** Sums the statistics of the servers that responded; those of an unreachable server are unknown. */
    private static void sum(Operation.Manage manage, List<ManageFanOut.ServerReply> replies, Reply reply) {
        List<ModelStatisticsResponse> responses = new ArrayList<>();
        List<ServerOutcome> failed = new ArrayList<>();
        for (ManageFanOut.ServerReply serverReply : replies) {
            OipException failure = serverReply.failure();
            try {
                if (failure == null) {
                    String client = manage.model().name();
                    responses.add(MergedStatistics.read(
                            serverReply.content(), serverReply.server().model().name(), client));
                } else {
                    failed.add(new ServerOutcome(serverReply.server().source(), failure));
                }
            } catch (InvalidProtocolBufferException e) {
                failed.add(new ServerOutcome(serverReply.server().source(), invalidResponse(serverReply, e)));
            }
        }
        if (responses.isEmpty()) {
            new FanOutResult("statistics", failed).failure().ifPresent(reply::fail);
            return;
        }
        try {
            deliver(manage, MergedStatistics.of(responses), reply);
        } catch (OipException e) {
            reply.fail(e);
        }
    }

    private static OipException invalidResponse(ManageFanOut.ServerReply reply, IOException cause) {
        return new OipException(
                ErrorCode.BAD_UPSTREAM_ANSWER,
                "upstream '" + reply.server().member().upstream() + "' sent a response that violates the protocol",
                cause);
    }

    private static void deliver(Operation.Manage manage, Message response, Reply reply) {
        try {
            byte[] content = response.toByteArray();
            byte[] encoded = manage.json() ? ManagementJson.toJson(manage.extension(), content) : content;
            reply.only(new ReplyMessage.Document(Unpooled.wrappedBuffer(encoded)));
        } catch (IOException e) {
            reply.fail(new OipException(ErrorCode.INTERNAL, "internal error", e));
        }
    }

    private List<FanOutTarget> servers(List<Upstream> upstreams) {
        return upstreams.stream()
                .flatMap(upstream -> servers(upstream, NO_MODEL))
                .distinct()
                .toList();
    }

    /** The servers of the targets known to support the operation, or of all if none is; each model of a server once. */
    private List<FanOutTarget> servers(List<Target> targets, Predicate<Upstream> able) {
        List<Target> selected =
                targets.stream().filter(target -> able.test(target.upstream())).toList();
        List<FanOutTarget> servers = (selected.isEmpty() ? targets : selected)
                .stream()
                        .flatMap(target -> servers(target.upstream(), target.model()))
                        .distinct()
                        .toList();
        if (servers.isEmpty()) {
            throw OipException.refused(ErrorCode.UNAVAILABLE, "the model has no servers", Duration.ofSeconds(1))
                    .because(FailureCause.NO_SERVER);
        }
        return servers;
    }

    private Stream<FanOutTarget> servers(Upstream upstream, ModelRef model) {
        return catalogue.members(upstream).stream().map(member -> new FanOutTarget(member, model));
    }

    private static ByteBuf protobuf(Operation.Manage manage, ByteBuf json) throws IOException {
        return ManagementJson.toProtobuf(manage.extension(), manage.model(), manage.resource(), json);
    }

    private @Nullable JsonCheck check(Operation.Manage manage) {
        return manage.json() ? JsonCheck.optional(limits) : null;
    }

    /** Passes the body to the query as a protobuf message (borrowed), whichever protocol the client speaks. */
    private RequestSink read(Call call, Operation.Manage manage, Reply reply, Function<ByteBuf, Subscription> query) {
        return new PassThroughBody(call.allocator(), check(manage), reply, body -> {
            ByteBuf content = Unpooled.EMPTY_BUFFER;
            try {
                content = manage.json() ? protobuf(manage, body) : body.retain();
                return query.apply(content);
            } catch (IOException e) {
                reply.fail(ManagementJson.malformed(e));
            } catch (OipException e) {
                reply.fail(e);
            } finally {
                content.release();
                body.release();
            }
            return Subscription.NONE;
        });
    }

    /** Removes the models that the caller does not see from an index or from statistics. */
    static final class VisibleModelsReply extends ForwardingReply {
        private static final ObjectMapper JSON = new ObjectMapper();

        private final Operation.Manage manage;
        private final Predicate<ModelRef> visible;

        VisibleModelsReply(Operation.Manage manage, Predicate<ModelRef> visible, Reply client) {
            super(client);
            this.manage = manage;
            this.visible = visible;
        }

        @Override
        public void message(ReplyMessage message) {
            if (!(message instanceof ReplyMessage.Document document)) {
                super.message(message);
                return;
            }
            ByteBuf shown;
            try {
                shown = Unpooled.wrappedBuffer(manage.json() ? json(document.content()) : protobuf(document.content()));
            } catch (IOException e) {
                super.fail(new OipException(
                        ErrorCode.BAD_UPSTREAM_ANSWER, "a server sent a list of models that violates the protocol", e));
                return;
            } finally {
                document.release();
            }
            super.message(new ReplyMessage.Document(shown));
        }

        private byte[] json(ByteBuf content) throws IOException {
            byte[] bytes = ByteBufUtil.getBytes(content);
            JsonNode answer = JSON.readTree(bytes);
            if (!((index() ? answer : answer.path("model_stats")) instanceof ContainerNode<?> models)) {
                return bytes;
            }
            int all = models.size();
            models.removeIf(model ->
                    !shows(model.path("name").asText(), model.path("version").asText()));
            return models.size() < all ? JSON.writeValueAsBytes(answer) : bytes;
        }

        private byte[] protobuf(ByteBuf content) throws IOException {
            return (index() ? index(content) : statistics(content)).toByteArray();
        }

        private Message index(ByteBuf content) throws IOException {
            var all = RepositoryIndexResponse.parseFrom(content.nioBuffer()).toBuilder();
            var shown = all.getModelsList().stream()
                    .filter(model -> shows(model.getName(), model.getVersion()))
                    .toList();
            return all.clearModels().addAllModels(shown).build();
        }

        private Message statistics(ByteBuf content) throws IOException {
            var all = ModelStatisticsResponse.parseFrom(content.nioBuffer()).toBuilder();
            var shown = all.getModelStatsList().stream()
                    .filter(model -> shows(model.getName(), model.getVersion()))
                    .toList();
            return all.clearModelStats().addAllModelStats(shown).build();
        }

        private boolean shows(String name, String version) {
            return visible.test(new ModelRef(name, version));
        }

        private boolean index() {
            return manage.extension() == Extension.REPOSITORY_INDEX;
        }
    }

    /**
     * The reply to a load or unload. It is delivered when the catalogue knows the model's new state, since clients ask for it
     * next; without it if a server does not say it soon. KServe's clients get KServe's message, whatever the server is: they
     * look whether it says that the model is loaded.
     */
    static final class ChangeReply extends ForwardingReply {
        private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(5);

        private final Call call;
        private final Operation.Manage manage;
        private final List<Target> targets;
        private final Catalogue catalogue;
        private @Nullable ByteBuf response;

        ChangeReply(Call call, Operation.Manage manage, List<Target> targets, Catalogue catalogue, Reply reply) {
            super(reply);
            this.call = call;
            this.manage = manage;
            this.targets = targets;
            this.catalogue = catalogue;
        }

        @Override
        public void message(ReplyMessage message) {
            // Copied: nothing is to be released if the call is cancelled before its end.
            if (manage.modelFirst()) {
                response = Unpooled.wrappedBuffer(done().toByteArray());
            } else if (message instanceof ReplyMessage.Document document) {
                response = Unpooled.copiedBuffer(document.content());
            }
            message.release();
        }

        private MessageLite done() {
            String model = manage.model().name();
            return manage.extension() == Extension.REPOSITORY_LOAD
                    ? RepositoryModelLoadResponse.newBuilder()
                            .setModelName(model)
                            .setIsLoaded(true)
                            .build()
                    : RepositoryModelUnloadResponse.newBuilder()
                            .setModelName(model)
                            .setIsUnloaded(true)
                            .build();
        }

        @Override
        public void complete() {
            whenKnown(null);
        }

        @Override
        public void fail(OipException failure) {
            whenKnown(failure);
        }

        private void whenKnown(@Nullable OipException failure) {
            Set<Upstream> upstreams = targets.stream().map(Target::upstream).collect(Collectors.toUnmodifiableSet());
            long left = call.hasDeadline() ? call.deadlineNanos() - System.nanoTime() : Long.MAX_VALUE;
            // Before the client's deadline, not at it.
            long wait = Math.clamp(left - left / 10, 0, MAX_WAIT_NANOS);
            try {
                checked()
                        .thenCompose(checked -> catalogue.changed(upstreams))
                        .completeOnTimeout(null, wait, TimeUnit.NANOSECONDS)
                        .whenCompleteAsync((known, fault) -> deliver(failure), call.loop());
            } catch (RejectedExecutionException closing) {
                deliver(failure);
            }
        }

        /** Checks the model on each of its servers; an in-process server knows it. */
        private CompletableFuture<Void> checked() {
            return CompletableFuture.allOf(targets.stream()
                    .filter(target -> target.upstream() instanceof Cluster)
                    .map(target -> ((Cluster) target.upstream())
                            .replicas()
                            .recheck(target.model().name()))
                    .toArray(CompletableFuture<?>[]::new));
        }

        private void deliver(@Nullable OipException failure) {
            if (response != null) {
                super.message(new ReplyMessage.Document(response));
            }
            if (failure == null) {
                super.complete();
            } else {
                super.fail(failure);
            }
        }
    }
}
