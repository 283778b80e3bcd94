package dev.isthmus.gateway.fleet.discovery;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.handler.codec.dns.DefaultDnsRecordDecoder;
import io.netty.handler.codec.dns.DnsRawRecord;
import io.netty.handler.codec.dns.DnsRecord;
import java.util.ArrayList;
import java.util.List;

/**
 * One SRV record (RFC 2782).
 *
 * @param target without the trailing dot
 */
record ServiceRecord(int priority, int port, String target) {
    private static final int FIXED_BYTES = 6;

    /**
     * The records of the best priority: the others are a fallback. Weights are ignored: the load balancer distributes
     * calls.
     */
    static List<ServiceRecord> first(List<DnsRecord> records) {
        List<ServiceRecord> all = new ArrayList<>();
        for (DnsRecord record : records) {
            if (record instanceof DnsRawRecord raw) {
                all.add(read(raw.content().duplicate()));
            }
        }
        int best = all.stream().mapToInt(ServiceRecord::priority).min().orElse(0);
        all.removeIf(record -> record.priority != best || record.target.isEmpty());
        return all;
    }

    private static ServiceRecord read(ByteBuf content) {
        if (content.readableBytes() <= FIXED_BYTES) {
            throw new CorruptedFrameException(
                    "SRV record has " + content.readableBytes() + " bytes, expected more than " + FIXED_BYTES);
        }
        int priority = content.readUnsignedShort();
        content.readUnsignedShort();
        int port = content.readUnsignedShort();
        String target = DefaultDnsRecordDecoder.decodeName(content);
        return new ServiceRecord(priority, port, target.substring(0, target.length() - 1));
    }
}
