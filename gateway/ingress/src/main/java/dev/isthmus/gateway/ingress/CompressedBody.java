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

/** A compressed body, inflated one {@link Turn} at a time, because a few bytes may expand to many. */
final class CompressedBody {
    private final ContentInflater decoder;
    private final Turn turn;

    private CompressedBody(ContentInflater decoder, Turn turn) {
        this.decoder = decoder;
        this.turn = turn;
    }

    /**
     * Creates the decoder of a body.
     *
     * @param codings from the Content-Encoding header
     * @param resume must call {@link #decode}; run in the next turn if input is left
     * @return null if the body is not compressed
     * @throws OipException UNSUPPORTED_MEDIA_TYPE if the coding is not supported
     */
    static @Nullable CompressedBody of(List<String> codings, Channel channel, InflationLimits limits, Runnable resume) {
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
        return new CompressedBody(coding.decoder(channel.alloc(), limits), new Turn(channel.eventLoop(), resume));
    }

    /** @param part taken */
    void add(ByteBuf part) {
        decoder.add(part);
        turn.giveWay();
    }

    /**
     * Decodes buffered input until the turn ends.
     *
     * @param out receives the decoded buffers and owns them; it may release this body
     * @throws OipException as {@link ContentInflater#decode} does
     */
    void decode(Consumer<ByteBuf> out) {
        decoder.decode(() -> !turn.over(), inflated -> {
            turn.took();
            turn.tookBytes(inflated.readableBytes());
            out.accept(inflated);
        });
    }

    /** Whether input is left for the next turn. */
    boolean hasRemaining() {
        return !decoder.done();
    }

    /** Bytes of memory held: the decoder's state and the input that was not decoded. */
    int held() {
        return ContentInflater.HELD + decoder.waiting();
    }

    /**
     * Checks that the body is complete. All input must have been decoded.
     *
     * @throws OipException as {@link ContentInflater#finish} does
     */
    void finish() {
        decoder.finish();
    }

    /** Releases everything. Idempotent. */
    void release() {
        decoder.release();
    }
}
