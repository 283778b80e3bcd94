package dev.isthmus.gateway.redis;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.util.Collection;
import java.util.function.Consumer;

/**
 * Checks answers before the client reads them: it allocates what an answer declares, without a limit, and keeps what it
 * did not ask for. Closes the connection at the first answer that is none.
 */
final class AnswerCheck extends ChannelDuplexHandler {
    private final AnswerGrammar grammar = new AnswerGrammar();
    private final Consumer<String> refused;
    private boolean closing;

    /** @param refused receives what is wrong with an answer, before the connection is closed */
    AnswerCheck(Consumer<String> refused) {
        this.refused = refused;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object commands, ChannelPromise promise) {
        grammar.asked(commands instanceof Collection<?> several ? several.size() : 1);
        ctx.write(commands, promise);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (!closing && ((ByteBuf) message).forEachByte(grammar) < 0) {
            ctx.fireChannelRead(message);
            return;
        }
        ReferenceCountUtil.release(message);
        if (!closing) {
            closing = true;
            refused.accept(grammar.problem());
            ctx.close();
        }
    }
}
