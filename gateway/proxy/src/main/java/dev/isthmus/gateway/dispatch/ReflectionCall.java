package dev.isthmus.gateway.dispatch;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.reflection.v1.ServerReflectionRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/** A stream of gRPC's server reflection. Its messages are the same in v1 and v1alpha. */
final class ReflectionCall implements RequestSink {
    private final Reply client;
    private boolean ended;

    ReflectionCall(Reply client) {
        this.client = client;
    }

    @Override
    public void data(ByteBuf message) {
        try {
            if (!ended) {
                ServerReflectionRequest request = ServerReflectionRequest.parseFrom(message.nioBuffer());
                byte[] response = ServiceDescriptors.response(request).toByteArray();
                client.message(new ReplyMessage.Document(Unpooled.wrappedBuffer(response)));
            }
        } catch (InvalidProtocolBufferException e) {
            ended = true;
            client.fail(new OipException(ErrorCode.INVALID_ARGUMENT, "malformed protobuf message", e));
        } finally {
            message.release();
        }
    }

    @Override
    public boolean isReady() {
        return client.isReady();
    }

    @Override
    public void onReady() {
        client.onReady();
    }

    @Override
    public void end() {
        if (!ended) {
            ended = true;
            client.complete();
        }
    }

    @Override
    public void cancel() {
        ended = true;
    }
}
