package dev.isthmus.local.ort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.engine.Engine;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The build's own runtime, and the messages for GPUs that are not available. */
class DevicesTest {
    private static final ModelRef MODEL = new ModelRef("simple", "1");
    private static final Cuda NO_CUDA = Cuda.NOT_PROBED;

    private static byte[] onnx;
    private static OrtEnvironment environment;

    @BeforeAll
    static void start() throws IOException {
        Engine.getEngine("OnnxRuntime");
        environment = OrtEnvironment.getEnvironment();
        try (InputStream in = DevicesTest.class.getResourceAsStream("/models/simple/1/model.onnx")) {
            onnx = in.readAllBytes();
        }
    }

    /** Opens the model and records the devices attempted. */
    private static final class Attempts implements Devices.Opener {
        private final List<String> places = new ArrayList<>();
        private final byte[] model;
        private final String gpuFailure;

        Attempts(byte[] model, String gpuFailure) {
            this.model = model;
            this.gpuFailure = gpuFailure;
        }

        @Override
        public OrtSession open(DevicePlacement placement) throws OrtException {
            places.add(placement.toString());
            if (placement.device().isGpu() && !gpuFailure.isEmpty()) {
                throw new OrtException(OrtException.OrtErrorCode.ORT_EP_FAIL, gpuFailure);
            }
            try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
                return environment.createSession(model, options);
            }
        }
    }

    private static Cuda cuda(int devices) {
        return new Cuda(true, devices, library -> true);
    }

    private static OrtSession really(DevicePlacement placement) throws OrtException {
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            placement.addTo(options);
            return environment.createSession(onnx, options);
        }
    }

    private static OipException refusal(String device, Cuda cuda, String gpuFailure) {
        try {
            Devices.place(MODEL, device, cuda, new Attempts(onnx, gpuFailure))
                    .session()
                    .close();
        } catch (OipException e) {
            return e;
        } catch (OrtException e) {
            throw new AssertionError(e);
        }
        throw new AssertionError("it was placed");
    }

    @Test
    void cpu_isOpenedThere_andSaysSo() throws OrtException {
        Devices.PlacedSession placed = Devices.place(MODEL, "cpu", new Attempts(onnx, ""));
        try (OrtSession session = placed.session()) {
            assertThat(session.getInputNames()).contains("INPUT0");
            assertThat(placed.placement().parameters())
                    .containsEntry("provider", new Parameter.Text("CPUExecutionProvider"))
                    .containsEntry("device", new Parameter.Text("cpu"));
        }
    }

    @Test
    void gpu_openedThere_saysSo() throws OrtException {
        Devices.PlacedSession placed = Devices.place(MODEL, "gpu:1", cuda(2), new Attempts(onnx, ""));
        try (OrtSession session = placed.session()) {
            assertThat(session.getNumInputs()).isEqualTo(2);
            assertThat(placed.placement().parameters())
                    .containsEntry("provider", new Parameter.Text("CUDAExecutionProvider"))
                    .containsEntry("device", new Parameter.Text("gpu:1"));
        }
    }

    @Test
    void gpu_ofABuildWithoutCuda_isRefusedWithoutATry() {
        Attempts tries = new Attempts(onnx, "");
        assertThatThrownBy(() -> Devices.place(MODEL, "gpu:0", NO_CUDA, tries))
                .hasMessage("device gpu:0 is not available: this ONNX Runtime is built without CUDA;"
                        + " use the Maven profile gpu");
        assertThat(tries.places).isEmpty();
    }

    @Test
    void gpu_whoseLibrariesAreMissing_namesTheFirst() {
        String failure = "/src/provider_bridge_ort.cc:1988 onnxruntime::Provider& onnxruntime::ProviderLibrary::Get()"
                + " [ONNXRuntimeError] : 1 : FAIL : Failed to load library /opt/libonnxruntime_providers_cuda.so"
                + " with error: ";
        OipException refusal =
                refusal("gpu:0", cuda(1), failure + "libcublasLt.so.13: cannot open shared object file: No such file");
        assertThat(refusal.code()).isEqualTo(ErrorCode.FAILED_PRECONDITION);
        assertThat(refusal.message())
                .isEqualTo("device gpu:0 is not available: the library libcublasLt.so.13 is missing");
        assertThat(refusal("gpu:0", cuda(1), failure + "undefined symbol: cudaMalloc")
                        .message())
                .isEqualTo("device gpu:0 is not available: the libraries of CUDA do not load");
    }

    /** A session is not even opened there: cuDNN ends the process if it does not find one of its own libraries. */
    @ParameterizedTest
    @ValueSource(strings = {"libcudnn.so.9", "libcudnn_graph.so.9"})
    void gpu_withoutAllOfCudnn_isRefused_andAutoTakesTheCpu(String missing) throws OrtException {
        Cuda noCudnn = new Cuda(true, 1, library -> !library.equals(missing));
        assertThat(refusal("gpu:0", noCudnn, "").message())
                .isEqualTo("device gpu:0 is not available: the library " + missing + " is missing");
        Attempts tries = new Attempts(onnx, "");
        Devices.place(MODEL, "auto", noCudnn, tries).session().close();
        assertThat(tries.places).containsExactly("cpu");
    }

    @Test
    void gpu_needsOneOfTheEnginesOfCudnn() throws OrtException {
        assertThat(refusal("gpu:0", new Cuda(true, 1, library -> !library.contains("_engines_")), "")
                        .message())
                .isEqualTo("device gpu:0 is not available: the library libcudnn_engines_precompiled.so.9 is missing");
        new Cuda(true, 1, library -> !library.contains("_engines_precompiled")).requireCudnn();
        new Cuda(true, 1, library -> !library.contains("_engines_runtime")).requireCudnn();
    }

    @Test
    void gpu_beyondThoseThatThereAre_saysWhichThereAre() {
        String failure = "CUDA failure 101: invalid device ordinal ; GPU=2 ; file=/onnx/cuda_call.cc";
        assertThat(refusal("gpu:2", cuda(2), failure).message())
                .isEqualTo("device gpu:2 is not available: the GPUs are gpu:0 to gpu:1");
        assertThat(refusal("gpu:2", cuda(1), failure).message())
                .isEqualTo("device gpu:2 is not available: the only GPU is gpu:0");
    }

    @Test
    void gpu_thatFailsOtherwise_saysWhatCudaSaid() {
        assertThat(refusal("gpu:0", cuda(1), "CUDA failure 2: out of memory ; GPU=0 ; file=/onnx/a.cc")
                        .message())
                .isEqualTo("device gpu:0 is not available: CUDA failure 2: out of memory");
        assertThat(refusal("gpu:0", cuda(0), "Failed to find CUDA shared provider")
                        .message())
                .isEqualTo("device gpu:0 is not available: CUDA finds no GPU");
        assertThat(refusal("gpu:0", cuda(1), "CUBLAS failure").message())
                .isEqualTo("device gpu:0 is not available: CUDA does not start");
    }

    @Test
    void gpu_modelThatIsNone_isNotBlamedOnTheDevice() {
        Attempts tries = new Attempts(new byte[] {1, 2, 3}, "");
        assertThatThrownBy(() -> Devices.place(MODEL, "gpu:0", cuda(1), tries)).isInstanceOf(OrtException.class);
    }

    @Test
    void auto_withoutCuda_takesTheCpu() throws OrtException {
        Attempts tries = new Attempts(onnx, "");
        Devices.place(MODEL, "auto", NO_CUDA, tries).session().close();
        assertThat(tries.places).containsExactly("cpu");
    }

    @Test
    void auto_gpuThatWorks_isTaken() throws OrtException {
        Attempts tries = new Attempts(onnx, "");
        Devices.place(MODEL, "auto", cuda(1), tries).session().close();
        assertThat(tries.places).containsExactly("gpu:0");
    }

    @Test
    void auto_gpuThatFails_isFollowedByTheCpu() throws OrtException {
        Attempts tries = new Attempts(onnx, "CUDA failure 100: no CUDA-capable device is detected");
        Devices.place(MODEL, "auto", cuda(0), tries).session().close();
        assertThat(tries.places).containsExactly("gpu:0", "cpu");
    }

    @Test
    void auto_modelThatNoDeviceTakes_fails() {
        Attempts tries = new Attempts(new byte[] {1, 2, 3}, "");
        assertThatThrownBy(() -> Devices.place(MODEL, "auto", cuda(1), tries)).isInstanceOf(OrtException.class);
        assertThat(tries.places).containsExactly("gpu:0", "cpu");
    }

    @Test
    void auto_withThisBuild_opensTheModel() throws OrtException {
        try (OrtSession session =
                Devices.place(MODEL, "auto", DevicesTest::really).session()) {
            assertThat(session.getNumOutputs()).isEqualTo(2);
        }
    }

    @Test
    void gpu_thatNoMachineHas_isRefused_withAnyBuild() {
        assertThatThrownBy(() -> Devices.place(MODEL, "gpu:999", DevicesTest::really))
                .isInstanceOf(OipException.class)
                .hasMessageStartingWith("device gpu:999 is not available: ");
    }

    @Test
    void thisBuild_saysTruthfullyWhetherItHasCuda() {
        assertThat(Cuda.detect().built())
                .isEqualTo(System.getProperty("isthmus.onnxruntime").endsWith("_gpu"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "gpu", "GPU:0", "gpu:-1", "gpu:1234", "cuda", "cpu:0"})
    void device_ofAnotherName_isRefused(String device) {
        assertThat(refusal(device, NO_CUDA, "").message())
                .isEqualTo("device '" + device + "': cpu, gpu:N or auto is expected");
    }
}
