package dev.isthmus.gateway.settings;

@Doc("Abuse limits of one HTTP/2 connection. A client that exceeds one is disconnected with "
        + "ENHANCE_YOUR_CALM. Bursts refill at their rates.")
public record Http2Abuse(
        @Doc("Burst of streams that the client resets before a response. Each answered stream refills one. "
                + "0: no limit.")
        @Range(max = 1_000_000)
        @Default("5000")
        int streamResetBurst,

        @Doc("Refill of the burst per second.") @Range(max = 1_000_000) @Default("100")
        int streamResetRate,

        @Doc("Burst of streams that are reset because the client broke the protocol. 0: no limit.")
        @Range(max = 1_000_000)
        @Default("1000")
        int streamErrorBurst,

        @Doc("Refill of the burst per second.") @Range(max = 1_000_000) @Default("33")
        int streamErrorRate,

        @Doc("Burst of frames without payload: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA, frames "
                + "of closed streams. 0: no limit.")
        @Range(max = 100_000_000)
        @Default("10000")
        int controlFrameBurst,

        @Doc("Refill of the burst per second.") @Range(max = 100_000_000) @Default("1000")
        int controlFrameRate,

        @Doc("Such frames that are free for each DATA frame of either side and for each stream.")
        @Range(max = 1_000_000)
        @Default("10")
        int controlFramesPerData,

        @Doc("Maximum number of frames, DATA aside, that wait for a client that does not read. 0: no limit.")
        @Range(max = 100_000_000)
        @Default("10000")
        int maxQueuedFrames) {}
