/** Runs commands of the product as an operator does, beside its processes. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { PATIENT } from './patience.ts'
import { type Product, ROOT } from './product.ts'

const BIN = join(ROOT, 'bin/tollgate.mjs')

export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** Runs `tollgate` on the stores of the product; `environment` overrides some settings. */
export function tollgate(
  product: Product,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const env = {
    PATH: process.env['PATH'],
    ...PATIENT,
    TOLLGATE_DATA_DIR: product.folder,
    TOLLGATE_REDIS_URL: product.redisUrl,
    TOLLGATE_MONGO_URL: product.mongoUrl,
    TOLLGATE_MONGO_DATABASE: product.database,
    ...environment,
  }
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    })
  })
}
