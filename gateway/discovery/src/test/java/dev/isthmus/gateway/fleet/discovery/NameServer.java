package dev.isthmus.gateway.fleet.discovery;

import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramChannel;
import io.netty.handler.codec.dns.DatagramDnsQuery;
import io.netty.handler.codec.dns.DatagramDnsQueryDecoder;
import io.netty.handler.codec.dns.DatagramDnsResponse;
import io.netty.handler.codec.dns.DatagramDnsResponseEncoder;
import io.netty.handler.codec.dns.DefaultDnsRawRecord;
import io.netty.handler.codec.dns.DnsQuestion;
import io.netty.handler.codec.dns.DnsRawRecord;
import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.handler.codec.dns.DnsSection;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** A real name server on a loopback port, whose records may change at any time. */
final class NameServer implements AutoCloseable {
    private final Map<String, List<Entry>> zone = new ConcurrentHashMap<>();
    private final Channel channel;
    private volatile boolean failing;
    final AtomicInteger questions = new AtomicInteger();

    private record Entry(DnsRecordType type, int seconds, Supplier<ByteBuf> content) {
        DnsRawRecord record(String name) {
            return new DefaultDnsRawRecord(name, type, seconds, content.get());
        }
    }

    NameServer(EventLoop loop) {
        channel = new Bootstrap()
                .group(loop)
                .channel(Transport.of(loop).datagramChannel())
                .handler(new ChannelInitializer<DatagramChannel>() {
                    @Override
                    protected void initChannel(DatagramChannel opened) {
                        opened.pipeline()
                                .addLast(
                                        new DatagramDnsQueryDecoder(), new DatagramDnsResponseEncoder(), new Answers());
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), 0)
                .syncUninterruptibly()
                .channel();
    }

    InetSocketAddress address() {
        return (InetSocketAddress) channel.localAddress();
    }

    /** Sets the name's addresses. */
    void host(String name, int seconds, String... addresses) {
        zone.put(
                name + ".",
                List.of(addresses).stream()
                        .map(address -> new Entry(
                                address.indexOf(':') < 0 ? DnsRecordType.A : DnsRecordType.AAAA,
                                seconds,
                                () -> Unpooled.wrappedBuffer(NetUtil.createByteArrayFromIpAddressString(address))))
                        .toList());
    }

    /** Sets the name's SRV records: "priority port target". */
    void service(String name, int seconds, String... records) {
        zone.put(
                name + ".",
                List.of(records).stream()
                        .map(record -> new Entry(DnsRecordType.SRV, seconds, () -> service(record.split(" ", -1))))
                        .toList());
    }

    private static ByteBuf service(String[] record) {
        ByteBuf content = Unpooled.buffer()
                .writeShort(Integer.parseInt(record[0]))
                .writeShort(1)
                .writeShort(Integer.parseInt(record[1]));
        for (String label : record[2].split("\\.", -1)) {
            content.writeByte(label.length());
            content.writeCharSequence(label, StandardCharsets.US_ASCII);
        }
        return content.writeByte(0);
    }

    /** Makes all queries fail, or none. */
    void failing(boolean now) {
        failing = now;
    }

    @Override
    public void close() {
        channel.close().syncUninterruptibly();
    }

    private final class Answers extends SimpleChannelInboundHandler<DatagramDnsQuery> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, DatagramDnsQuery query) {
            questions.incrementAndGet();
            DnsQuestion question = query.recordAt(DnsSection.QUESTION);
            DatagramDnsResponse response = new DatagramDnsResponse(query.recipient(), query.sender(), query.id());
            response.addRecord(DnsSection.QUESTION, question);
            List<Entry> entries = zone.get(question.name());
            if (failing) {
                response.setCode(DnsResponseCode.SERVFAIL);
            } else if (entries == null) {
                response.setCode(DnsResponseCode.NXDOMAIN);
            } else {
                entries.stream()
                        .filter(entry -> entry.type.equals(question.type()))
                        .forEach(entry -> response.addRecord(DnsSection.ANSWER, entry.record(question.name())));
            }
            ctx.writeAndFlush(response, ctx.voidPromise());
        }
    }
}
