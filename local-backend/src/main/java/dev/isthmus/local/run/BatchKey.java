package dev.isthmus.local.run;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides which requests may share a batch.
 *
 * @param rows the first extent of all inputs
 * @param hash equal for requests that may share a run; others may collide
 */
record BatchKey(int rows, int hash) {

    /** The key of a request whose inputs have the batch as their first dimension; null for one that must run alone. */
    static @Nullable BatchKey of(InferRequest request, int max) {
        List<Tensor> inputs = request.inputs();
        long rows = inputs.isEmpty() ? 0 : inputs.getFirst().shape().extent(0);
        int hash = 1;
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            if (input.shape().extent(0) != rows) {
                return null;
            }
            hash = 31 * hash + input.name().hashCode();
            hash = 31 * hash + input.dataType().hashCode();
            for (int dimension = 1; dimension < input.shape().rank(); dimension++) {
                hash = 31 * hash + Long.hashCode(input.shape().extent(dimension));
            }
        }
        for (int i = 0; i < request.outputs().size(); i++) {
            hash = 31 * hash + request.outputs().get(i).name().hashCode();
        }
        return rows < 1 || rows >= max ? null : new BatchKey((int) rows, hash);
    }

    /** Whether two requests may share a run. */
    static boolean alike(LocalRun one, LocalRun other) {
        BatchKey a = one.batchKey();
        BatchKey b = other.batchKey();
        return a != null
                && b != null
                && a.hash == b.hash
                && sameInputs(
                        one.submission().request().inputs(),
                        other.submission().request().inputs())
                && sameOutputs(
                        one.submission().request().outputs(),
                        other.submission().request().outputs());
    }

    private static boolean sameInputs(List<Tensor> one, List<Tensor> other) {
        boolean same = one.size() == other.size();
        for (int i = 0; same && i < one.size(); i++) {
            Tensor a = one.get(i);
            Tensor b = other.get(i);
            same = a.name().equals(b.name()) && a.dataType() == b.dataType() && sameRows(a.shape(), b.shape());
        }
        return same;
    }

    private static boolean sameRows(Shape one, Shape other) {
        boolean same = one.rank() == other.rank();
        for (int i = 1; same && i < one.rank(); i++) {
            same = one.extent(i) == other.extent(i);
        }
        return same;
    }

    private static boolean sameOutputs(List<RequestedOutput> one, List<RequestedOutput> other) {
        boolean same = one.size() == other.size();
        for (int i = 0; same && i < one.size(); i++) {
            same = one.get(i).name().equals(other.get(i).name());
        }
        return same;
    }
}
