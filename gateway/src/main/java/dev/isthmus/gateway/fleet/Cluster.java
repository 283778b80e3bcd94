package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.InferStream;
import dev.isthmus.gateway.upstream.PeerKnowledge;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Wire;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.Map;

/** The servers of one configured upstream, seen as one. */
public final class Cluster implements Upstream {
    private final String name;
    private final Wire wire;
    private final PeerKnowledge knowledge;
    private final ReplicaSet replicas;

    /** @param servers one or more, taken: closed with this */
    public Cluster(String name, Wire wire, PeerKnowledge knowledge, List<Upstream> servers) {
        this.name = name;
        this.wire = wire;
        this.knowledge = knowledge;
        this.replicas = new ReplicaSet(servers.stream()
                .map(server -> new Replica(server.name(), server))
                .toList());
    }

    /** The servers as they are now. */
    public List<Member> members() {
        return replicas.all().stream()
                .map(replica -> new Member(name, replica.label(), replica.server(), true, "", Map.of(), false))
                .toList();
    }

    private Upstream pick(Call call, ModelRef model) {
        Replica replica = replicas.pick(call, model, List.of());
        if (replica == null) {
            throw new IllegalStateException("a cluster without servers");
        }
        return replica.server();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public List<String> extensions() {
        return knowledge.extensions();
    }

    @Override
    public Peer peer() {
        return knowledge.peer(wire);
    }

    @Override
    public Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        return pick(call, model).infer(call, model, message, reply);
    }

    @Override
    public Cancellation inferEvents(Call call, ModelRef model, InferMessage message, Reply reply) {
        return pick(call, model).inferEvents(call, model, message, reply);
    }

    @Override
    public InferStream inferStream(Call call, Reply reply) {
        return pick(call, ModelRef.of("")).inferStream(call, reply);
    }

    @Override
    public Cancellation generate(Call call, Operation.Generate generate, ByteBuf body, Reply reply) {
        return pick(call, generate.model()).generate(call, generate, body, reply);
    }

    @Override
    public Cancellation manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        return pick(call, manage.model()).manage(call, manage, body, reply);
    }

    @Override
    public Cancellation serverReady(Call call, Reply reply) {
        return pick(call, ModelRef.of("")).serverReady(call, reply);
    }

    @Override
    public Cancellation serverMetadata(Call call, Reply reply) {
        return pick(call, ModelRef.of("")).serverMetadata(call, reply);
    }

    @Override
    public Cancellation modelReady(Call call, ModelRef model, Reply reply) {
        return pick(call, model).modelReady(call, model, reply);
    }

    @Override
    public Cancellation modelMetadata(Call call, ModelRef model, Reply reply) {
        return pick(call, model).modelMetadata(call, model, reply);
    }

    @Override
    public void close() {
        replicas.close();
    }
}
