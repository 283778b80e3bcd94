package dev.isthmus.gateway.diagnosis;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.lang.management.ManagementFactory;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.ObjectName;

/** Number and size of the objects of each class. */
final class HeapHistogram {
    private HeapHistogram() {}

    /**
     * The histogram as text, with the classes that take most. Stops the process while the heap is walked: about a
     * second for each GiB.
     *
     * @throws OipException UNIMPLEMENTED if this JVM does not offer it
     */
    static String text(int classes) {
        try {
            Object result = ManagementFactory.getPlatformMBeanServer()
                    .invoke(
                            new ObjectName("com.sun.management:type=DiagnosticCommand"),
                            "gcClassHistogram",
                            // Unreachable objects, too: without, it would first collect all garbage.
                            new Object[] {new String[] {"-all"}},
                            new String[] {String[].class.getName()});
            // Two lines of heading.
            return result.toString().lines().limit(classes + 2L).collect(Collectors.joining("\n", "", "\n"));
        } catch (JMException e) {
            throw new OipException(ErrorCode.UNIMPLEMENTED, "this JVM has no histogram of its heap", e);
        }
    }
}
