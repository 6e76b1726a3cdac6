#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::run(fuzz::webhook::saved, input));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    fuzz::mutate::mutate_json(data, size, max_size, seed)
});
