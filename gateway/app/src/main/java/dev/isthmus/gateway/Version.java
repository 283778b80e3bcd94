package dev.isthmus.gateway;

import java.io.IOException;
import java.net.JarURLConnection;
import java.net.URL;
import java.util.jar.Manifest;

/** The version of this build. */
public final class Version {
    private static final String UNKNOWN = "unknown";

    private Version() {}

    /** From the jar's manifest; "dev" if classes are not loaded from a jar. */
    public static String current() {
        String version = Version.class.getPackage().getImplementationVersion();
        return version == null ? "dev" : version;
    }

    /** The commit it was built from, from the jar's manifest; "unknown" if it is missing. */
    public static String commit() {
        URL here = Version.class.getResource("Version.class");
        if (here == null || !here.getProtocol().equals("jar")) {
            return UNKNOWN;
        }
        try {
            Manifest manifest = ((JarURLConnection) here.openConnection()).getManifest();
            String commit =
                    manifest == null ? null : manifest.getMainAttributes().getValue("Isthmus-Commit");
            return commit == null ? UNKNOWN : commit;
        } catch (IOException e) {
            return UNKNOWN;
        }
    }
}
