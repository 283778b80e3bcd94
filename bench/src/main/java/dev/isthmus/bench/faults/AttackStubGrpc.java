package dev.isthmus.bench.faults;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import com.google.protobuf.WireFormat;
import dev.isthmus.bench.RawMethods;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2GoAwayFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.AttributeKey;
import io.netty.util.ReferenceCountUtil;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** A stream of a V2 server over gRPC. It buffers only the first 4 KiB of a request, which contain model and id. */
final class AttackStubGrpc extends ChannelInboundHandlerAdapter {
    private static final int WINDOW = 1 << 20;
    private static final int KEPT = 4_096;
    private static final int CALLS = 10;
    private static final int STILL_ANSWERED = 1_000;
    private static final AttributeKey<Integer> COUNT = AttributeKey.valueOf("calls");
    private static final ByteBuf BIG = framed(answer("big", "", new byte[AttackStubRest.BIG_BYTES]));

    private final AttackStub.Kind kind;
    private final Ledger ledger;
    private final ByteArrayOutputStream beginning = new ByteArrayOutputStream();
    private String method = "";

    private AttackStubGrpc(AttackStub.Kind kind, Ledger ledger) {
        this.kind = kind;
        this.ledger = ledger;
    }

    static void init(Channel channel, AttackStub.Kind kind, Ledger ledger) {
        channel.pipeline()
                .addLast(
                        Http2FrameCodecBuilder.forServer()
                                .initialSettings(Http2Settings.defaultSettings().initialWindowSize(WINDOW))
                                .build(),
                        new Http2MultiplexHandler(new ChannelInitializer<>() {
                            @Override
                            protected void initChannel(Channel stream) {
                                stream.pipeline().addLast(new AttackStubGrpc(kind, ledger));
                            }
                        }));
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws IOException {
        try {
            if (message instanceof Http2HeadersFrame head) {
                String path = String.valueOf(head.headers().path());
                method = path.substring(path.lastIndexOf('/') + 1);
            } else if (message instanceof Http2DataFrame data) {
                int count = Math.min(KEPT - beginning.size(), data.content().readableBytes());
                data.content().readBytes(beginning, count);
                if (data.isEndStream()) {
                    asked(context);
                }
            }
        } finally {
            ReferenceCountUtil.release(message);
        }
    }

    private void asked(ChannelHandlerContext context) throws IOException {
        if (!method.equals("ModelInfer")) {
            MessageLite response = method.equals("ServerMetadata")
                    ? ServerMetadataResponse.newBuilder()
                            .setName("stub")
                            .setVersion("1")
                            .build()
                    : ModelReadyResponse.newBuilder().setReady(true).build();
            write(context, framed(response));
            return;
        }
        String[] modelAndId = {"", ""};
        read(modelAndId);
        int id = Request.number(modelAndId[1]);
        boolean counted = ledger.arrived(id);
        Channel connection = context.channel().parent();
        if (kind.poisoned() && id == AttackStub.POISON) {
            connection.close();
            return;
        }
        ByteBuf response = modelAndId[0].equals("big")
                ? BIG.retainedDuplicate()
                : framed(answer(modelAndId[0], modelAndId[1], new byte[16]));
        context.executor()
                .schedule(
                        () -> {
                            if (counted) {
                                ledger.completed();
                            }
                            write(context, response);
                        },
                        Options.SERVICE_MICROS,
                        TimeUnit.MICROSECONDS);
        if (kind == AttackStub.Kind.GOAWAY) {
            count(connection);
        }
    }

    private static void count(Channel connection) {
        Integer before = connection.attr(COUNT).get();
        int calls = before == null ? 1 : before + 1;
        connection.attr(COUNT).set(calls);
        if (calls == CALLS) {
            // A last stream id in the future: calls in flight are still processed, as by a draining server.
            connection.writeAndFlush(
                    new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR).setExtraStreamIds(STILL_ANSWERED));
        }
    }

    /** Reads model and id from the message's first fields. */
    private void read(String[] modelAndId) throws IOException {
        byte[] bytes = beginning.toByteArray();
        CodedInputStream in = CodedInputStream.newInstance(bytes, 5, Math.max(0, bytes.length - 5));
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            int field = WireFormat.getTagFieldNumber(tag);
            if (field == 1) {
                modelAndId[0] = in.readString();
            } else if (field == 3) {
                modelAndId[1] = in.readString();
                return;
            } else if (field > 3 || !in.skipField(tag)) {
                return;
            }
        }
    }

    private static MessageLite answer(String model, String id, byte[] raw) {
        return RawMethods.response(model, id, raw, 1L, raw.length / 4L);
    }

    private static ByteBuf framed(MessageLite message) {
        byte[] bytes = message.toByteArray();
        return Unpooled.directBuffer(5 + bytes.length)
                .writeByte(0)
                .writeInt(bytes.length)
                .writeBytes(bytes);
    }

    private static void write(ChannelHandlerContext context, ByteBuf framed) {
        Http2Headers head = new DefaultHttp2Headers().status("200").set("content-type", "application/grpc");
        context.write(new DefaultHttp2HeadersFrame(head));
        context.write(new DefaultHttp2DataFrame(framed));
        context.writeAndFlush(new DefaultHttp2HeadersFrame(new DefaultHttp2Headers().set("grpc-status", "0"), true));
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }
}
