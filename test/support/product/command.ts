/** Runs commands of the product as an operator does, beside its processes. */
import { PATIENT } from './patience.ts'
import type { Product } from './product.ts'
import { type Completed, runCommand } from './run-command.ts'

/** A line of progress, as `8 accounts checked, 0.7/s`: a command writes it every ten seconds. */
const PROGRESS_LINE = /^\d+ .*\/s.*\n/gm

/**
 * Runs `tollgate` on the stores of the product; `environment` overrides some settings. Its standard
 * error is without progress, which depends on how busy the machine is.
 */
export async function tollgate(
  product: Product,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Completed> {
  const env = {
    PATH: process.env['PATH'],
    ...PATIENT,
    TOLLGATE_DATA_DIR: product.folder,
    TOLLGATE_REDIS_URL: product.redisUrl,
    TOLLGATE_MONGO_URL: product.mongoUrl,
    TOLLGATE_MONGO_DATABASE: product.database,
    ...environment,
  }
  const completed = await runCommand(args, env)
  return { ...completed, stderr: completed.stderr.replace(PROGRESS_LINE, '') }
}
