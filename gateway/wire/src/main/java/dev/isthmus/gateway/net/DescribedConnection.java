package dev.isthmus.gateway.net;

import io.netty.channel.Channel;

/** A connection that can say what it does. */
public interface DescribedConnection {

    Channel channel();

    /** What it does now. Called on its event loop. */
    ConnectionDescription describe();
}
