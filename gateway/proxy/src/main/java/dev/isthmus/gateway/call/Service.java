package dev.isthmus.gateway.call;

/** Where ingress hands a call over. */
@FunctionalInterface
public interface Service {

    /** Begins a call. Failures, also immediate ones, arrive at the reply; the sink may be fed in any case. */
    RequestSink open(Call call, Reply reply);
}
