/** Runs commands of the product as an operator does, beside its processes. */
import { PATIENT } from './patience.ts'
import type { Product } from './product.ts'
import { type Completed, runCommand } from './run-command.ts'

/** Runs `tollgate` on the stores of the product; `environment` overrides some settings. */
export function tollgate(
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
  return runCommand(args, env)
}
