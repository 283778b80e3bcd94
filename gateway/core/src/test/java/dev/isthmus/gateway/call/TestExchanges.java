package dev.isthmus.gateway.call;

/** Exchanges that pass no layers. */
public final class TestExchanges {
    private TestExchanges() {}

    /** One whose context is known, and which was rejected before it became a call. */
    public static Exchange of(CallContext context) {
        return Exchange.of(context, new DiscardingReply());
    }
}
