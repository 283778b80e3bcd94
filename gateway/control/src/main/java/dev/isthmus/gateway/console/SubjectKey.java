package dev.isthmus.gateway.console;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import io.micrometer.core.instrument.Meter;

/**
 * A model, target, server or caller.
 *
 * @param of the route's key of a target, the upstream of a server; empty for models and callers
 */
public record SubjectKey(String of, String name) {
    public static SubjectKey of(ReplicaStatus server) {
        return new SubjectKey(server.upstream(), server.label());
    }

    /** That of a meter with these tags. */
    static SubjectKey of(Meter meter, String of, String name) {
        return new SubjectKey(FleetReading.tag(meter, of), FleetReading.tag(meter, name));
    }
}
