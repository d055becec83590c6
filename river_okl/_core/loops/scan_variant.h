/* The loops of scan.h for one instruction set (simd.h). */
static void NAME(scan)(const Scanned *groups, Py_ssize_t m, Py_ssize_t blocks, int32_t *out, int32_t *lows) {
    for (Py_ssize_t b = 0; b < blocks; b++, out += SCANNED) {
#if HAVE_X86 && W > 2
        enum { VECTORS = SCANNED / 8 };
        const __m256i ones = _mm256_set1_epi16(1);
        __m256i sum[VECTORS];
        for (int v = 0; v < VECTORS; v++) sum[v] = _mm256_setzero_si256();
        for (Py_ssize_t j = 0; j < m; j++) {
            const __m256i *rows = (const __m256i *)(groups[j].bytes + b * SCANNED * GROUP);
            int32_t four;
            memcpy(&four, groups[j].own, 4);
            const __m256i own = _mm256_set1_epi32(four);
            memcpy(&four, groups[j].weight, 4);
            const __m256i weight = _mm256_set1_epi32(four);
            for (int v = 0; v < VECTORS; v++) {
                const __m256i z = _mm256_loadu_si256(rows + v);
                const __m256i off = _mm256_sub_epi8(_mm256_max_epu8(z, own), _mm256_min_epu8(z, own));
                sum[v] = _mm256_add_epi32(sum[v], _mm256_madd_epi16(_mm256_maddubs_epi16(off, weight), ones));
            }
        }
        __m256i least = sum[0]; /* not read back from memory, which would wait for the stores */
        for (int v = 0; v < VECTORS; v++) {
            _mm256_storeu_si256((__m256i *)out + v, sum[v]);
            least = _mm256_min_epi32(least, sum[v]);
        }
        __m128i four_least = _mm_min_epi32(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
        four_least = _mm_min_epi32(four_least, _mm_shuffle_epi32(four_least, 0x4e));
        four_least = _mm_min_epi32(four_least, _mm_shuffle_epi32(four_least, 0xb1));
        lows[b] = _mm_cvtsi128_si32(four_least);
#else
        int32_t low = INT32_MAX;
        memset(out, 0, SCANNED * sizeof(int32_t));
        for (Py_ssize_t j = 0; j < m; j++)
            for (int i = 0; i < SCANNED; i++)
                for (int k = 0; k < GROUP; k++) {
                    const int off = groups[j].bytes[(b * SCANNED + i) * GROUP + k] - groups[j].own[k];
                    out[i] += groups[j].weight[k] * (off < 0 ? -off : off);
                }
        for (int i = 0; i < SCANNED; i++) low = out[i] < low ? out[i] : low;
        lows[b] = low;
#endif
    }
}

static const Scans NAME(scans) = {NAME(scan)};
