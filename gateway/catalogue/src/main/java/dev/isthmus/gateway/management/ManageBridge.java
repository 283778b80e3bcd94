package dev.isthmus.gateway.management;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.extension.FanOut;
import dev.isthmus.gateway.extension.ManagementJson;
import dev.isthmus.gateway.extension.RepositoryJson;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;

/**
 * One operation of a management extension: body and response are forwarded unchanged if client and upstream speak the
 * same protocol, and otherwise converted between JSON and protobuf.
 */
final class ManageBridge extends ForwardingReply {
    private final Operation.Manage manage;
    private final Upstream upstream;
    private final boolean converted;

    ManageBridge(Operation.Manage manage, Upstream upstream, Reply client) {
        super(client);
        this.manage = manage;
        this.upstream = upstream;
        Wire wire = upstream.peer().wire();
        // The local backend speaks protobuf.
        this.converted = manage.json() != (wire == Wire.REST);
    }

    /** Sends the request. The body is taken. */
    Subscription send(Call call, ByteBuf body) {
        boolean index = manage.extension() == Extension.REPOSITORY_INDEX;
        if (!converted && !(index && manage.json())) {
            return upstream.send(call, new UpstreamRequest.ManageRequest(manage, body), index ? this : delegate());
        }
        try {
            // A valid request: each server refuses others in its own way.
            return converted
                    ? convert(call, body)
                    : upstream.send(
                            call, new UpstreamRequest.ManageRequest(manage, ManagementJson.index(body)), delegate());
        } catch (IOException e) {
            fail(ManagementJson.malformed(e));
        } catch (OipException e) {
            fail(e);
        } finally {
            body.release();
        }
        return Subscription.NONE;
    }

    private Subscription convert(Call call, ByteBuf body) throws IOException {
        ByteBuf turned = manage.json()
                ? ManagementJson.toProtobuf(manage.extension(), manage.model(), manage.resource(), body)
                : ManagementJson.toJson(manage.extension(), body);
        return upstream.send(call, new UpstreamRequest.ManageRequest(manage.as(!manage.json()), turned), this);
    }

    @Override
    public void message(ReplyMessage response) {
        if (!(response instanceof ReplyMessage.Document document)) {
            super.message(response);
            return;
        }
        try {
            byte[] content = ByteBufUtil.getBytes(document.content());
            super.message(new ReplyMessage.Document(Unpooled.wrappedBuffer(turned(content))));
        } catch (IOException e) {
            super.fail(new OipException(
                    ErrorCode.BAD_UPSTREAM_ANSWER,
                    "upstream '" + upstream.name() + "' sent a response to " + manage.extension()
                            + " that violates the protocol",
                    e));
        } catch (OipException e) {
            super.fail(e);
        } finally {
            document.release();
        }
    }

    /** REST servers say 404 of a path that they do not have, too, as their frameworks do: without a model's name. */
    @Override
    public void fail(OipException failure) {
        FanOut fanOut = manage.extension().fanOut();
        boolean noPath = fanOut != FanOut.EVERY_SERVER
                && fanOut != FanOut.MERGED_INDEX
                && converted
                && !manage.json()
                && failure.code() == ErrorCode.NOT_FOUND
                && failure.message().equals("Not Found");
        super.fail(
                noPath
                        ? new OipException(
                                ErrorCode.UNIMPLEMENTED, "the server does not serve " + manage.extension(), failure)
                        : failure);
    }

    private byte[] turned(byte[] content) throws IOException {
        if (!converted) {
            return RepositoryJson.plainStates(content);
        }
        return manage.json()
                ? ManagementJson.toJson(manage.extension(), content)
                : ManagementJson.toProtobuf(manage.extension(), content);
    }
}
