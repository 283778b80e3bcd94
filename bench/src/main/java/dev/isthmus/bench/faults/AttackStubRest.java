package dev.isthmus.bench.faults;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** A connection of a V2 server over REST. It buffers only the first 4 KiB of a request, which contain the id. */
final class AttackStubRest extends SimpleChannelInboundHandler<HttpObject> {
    static final int BIG_BYTES = 16 << 20;
    private static final int KEPT = 4_096;
    private static final int HINTS = 1_000;
    private static final String BINARY = "Inference-Header-Content-Length";
    static final String META = "{\"name\":\"stub\",\"version\":\"1\",\"live\":true,\"ready\":true,"
            + "\"extensions\":[\"binary_tensor_data\"],\"platform\":\"stub\",\"inputs\":[],\"outputs\":[]}";
    private static final String BIG_HEAD =
            "{\"model_name\":\"big-rest\",\"model_version\":\"1\",\"outputs\":[{\"name\":"
                    + "\"y\",\"datatype\":\"FP32\",\"shape\":[1," + BIG_BYTES / 4
                    + "],\"parameters\":{\"binary_data_size\":"
                    + BIG_BYTES + "}}]}";
    private static final ByteBuf BIG = Unpooled.wrappedBuffer(
            text(BIG_HEAD), Unpooled.directBuffer(BIG_BYTES).writeZero(BIG_BYTES));

    private final AttackStub.Kind kind;
    private final Ledger ledger;
    private final ByteArrayOutputStream beginning = new ByteArrayOutputStream();
    private boolean get;
    private boolean big;
    private int requests;

    private AttackStubRest(AttackStub.Kind kind, Ledger ledger) {
        this.kind = kind;
        this.ledger = ledger;
    }

    static void init(Channel channel, AttackStub.Kind kind, Ledger ledger) {
        channel.pipeline().addLast(new HttpServerCodec(), new AttackStubRest(kind, ledger));
    }

    static ByteBuf text(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII);
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject part) throws IOException {
        if (part instanceof HttpRequest head) {
            get = head.method().equals(HttpMethod.GET);
            big = head.uri().contains("/big");
            beginning.reset();
        }
        if (part instanceof HttpContent content) {
            int count = Math.min(KEPT - beginning.size(), content.content().readableBytes());
            content.content().readBytes(beginning, count);
        }
        if (part instanceof LastHttpContent) {
            asked(context);
        }
    }

    private void asked(ChannelHandlerContext context) {
        if (get) {
            context.writeAndFlush(answer(text(META), "application/json"));
            return;
        }
        int id = AttackStub.jsonId(beginning.toByteArray());
        boolean counted = ledger.arrived(id);
        requests++;
        if (kind == AttackStub.Kind.INTERIM) {
            hint(context);
        } else if (kind == AttackStub.Kind.CLOSING && requests > 1) {
            context.close();
        } else {
            context.executor()
                    .schedule(() -> answered(context, id, counted), Options.SERVICE_MICROS, TimeUnit.MICROSECONDS);
        }
    }

    private void answered(ChannelHandlerContext context, int id, boolean counted) {
        if (counted) {
            ledger.completed();
        }
        if (big) {
            FullHttpResponse response = answer(BIG.retainedDuplicate(), "application/octet-stream");
            response.headers().set(BINARY, BIG_HEAD.length());
            context.writeAndFlush(response);
            return;
        }
        context.writeAndFlush(answer(text(inferred(id)), "application/json"));
        if (kind == AttackStub.Kind.CLOSING) {
            context.executor().schedule(() -> context.close(), id % 20, TimeUnit.MILLISECONDS);
        }
    }

    /** The response to an inference with this id; negative for one that is not counted. */
    static String inferred(int id) {
        return "{\"model_name\":\"\",\"model_version\":\"1\",\"id\":\"" + (id < 0 ? "warm" : id)
                + "\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[0,0,0,0]}]}";
    }

    static FullHttpResponse answer(ByteBuf body, String type) {
        FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, body);
        response.headers().set("Content-Type", type).set("Content-Length", body.readableBytes());
        return response;
    }

    /** Sends interim responses as fast as the socket accepts them, until the connection closes. */
    private static void hint(ChannelHandlerContext context) {
        ByteBuf hints = text("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(HINTS));
        // Written below the codec, which would not write several heads in a row.
        context.pipeline().firstContext().writeAndFlush(hints).addListener((ChannelFutureListener) written -> {
            if (written.isSuccess()) {
                context.executor().execute(() -> hint(context));
            }
        });
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }
}
