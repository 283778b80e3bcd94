package dev.isthmus.gateway;

import java.io.IOException;
import java.net.JarURLConnection;
import java.net.URL;
import java.util.jar.Attributes;

/** What this build is, from the manifest of its jar. */
public final class Version {
    private static final String UNKNOWN = "unknown";

    private Version() {}

    /** The version; "dev" if classes are not loaded from a jar. */
    public static String current() {
        String version = Version.class.getPackage().getImplementationVersion();
        return version == null ? "dev" : version;
    }

    /** The commit it was built from, "-dirty" after it if files differed; "unknown" if it is missing. */
    public static String commit() {
        return attribute("Isthmus-Commit");
    }

    /** The time of the commit (ISO 8601), so that equal commits make equal builds; "unknown" if it is missing. */
    public static String time() {
        return attribute("Isthmus-Time");
    }

    /** The version of the JDK that built it; "unknown" if it is missing. */
    public static String jdk() {
        return attribute("Isthmus-JDK");
    }

    private static String attribute(String name) {
        URL here = Version.class.getResource("Version.class");
        if (here == null || !here.getProtocol().equals("jar")) {
            return UNKNOWN;
        }
        try {
            Attributes attributes = ((JarURLConnection) here.openConnection()).getMainAttributes();
            String value = attributes == null ? null : attributes.getValue(name);
            return value == null ? UNKNOWN : value;
        } catch (IOException e) {
            return UNKNOWN;
        }
    }
}
