package dev.isthmus.gateway.call;

import dev.isthmus.oip.OipException;

/** Releases every message. */
public final class DiscardingReply implements Reply {
    @Override
    public void message(ReplyMessage message) {
        message.release();
    }

    @Override
    public void complete() {}

    @Override
    public void fail(OipException failure) {}
}
