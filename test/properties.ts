import fc from 'fast-check'

/**
 * Properties draw the same cases in every run, so that a red run is red again; `MILLRACE_SEED=$RANDOM npm run
 * test:quick` draws others. Import it for its effect on this process.
 */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['MILLRACE_SEED'] ?? 20_261_201) })
