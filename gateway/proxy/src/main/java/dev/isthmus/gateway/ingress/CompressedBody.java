package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.coding.ContentInflater;
import dev.isthmus.gateway.coding.InflationLimits;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A compressed body, decoded a {@link Turn} at a time: a few bytes may become many. */
final class CompressedBody {
    private final ContentInflater decoder;
    private final Turn turn;

    private CompressedBody(ContentInflater decoder, Turn turn) {
        this.decoder = decoder;
        this.turn = turn;
    }

    /**
     * A body of which nothing has come.
     *
     * @param codings as the header Content-Encoding has them
     * @param goOn is to call {@link #decode} in the next turn, where something is left over
     * @return null for a body that is not compressed
     * @throws OipException UNSUPPORTED_MEDIA_TYPE for what is not understood
     */
    static @Nullable CompressedBody of(List<String> codings, Channel channel, InflationLimits limits, Runnable goOn) {
        if (codings.isEmpty()) {
            return null;
        }
        ContentCoding coding = codings.size() > 1 ? null : ContentCoding.of(codings.getFirst());
        if (coding == null) {
            throw new OipException(
                    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                    "header Content-Encoding: one of " + ContentCoding.ACCEPTED + " is expected, got '"
                            + String.join(", ", codings) + "'");
        }
        return new CompressedBody(coding.decoder(channel.alloc(), limits), new Turn(channel.eventLoop(), goOn));
    }

    /** @param part taken */
    void add(ByteBuf part) {
        decoder.add(part);
        turn.giveWay();
    }

    /**
     * Decodes what has come, as far as the turn goes.
     *
     * @param out gets what is decoded, and owns it; it may release this
     * @throws OipException as of {@link ContentInflater#decode}
     */
    void decode(Consumer<ByteBuf> out) {
        decoder.decode(() -> !turn.over(), inflated -> {
            turn.took();
            turn.tookBytes(inflated.readableBytes());
            out.accept(inflated);
        });
    }

    /** Whether something is left over for the next turn. */
    boolean waits() {
        return !decoder.done();
    }

    /** What decoding takes beside what is decoded, and what has come and was not decoded, in bytes. */
    int held() {
        return ContentInflater.HELD + decoder.waiting();
    }

    /**
     * All of the body has come, and nothing waits.
     *
     * @throws OipException as of {@link ContentInflater#finish}
     */
    void finish() {
        decoder.finish();
    }

    /** Gives back what is held; may be called more than once. */
    void release() {
        decoder.release();
    }
}
