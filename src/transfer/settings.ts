/** Checks settings of places and of what uses them. */
import type { Static, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** Settings are missing or cannot be used; the message begins with their path. It has no secret. */
export class TransferSettingsError extends Error {
  override name = 'TransferSettingsError'
}

/** Throws `TransferSettingsError` with the path of the first wrong member. */
export function settingsAt<T extends TSchema>(schema: T, value: unknown, path: string): Static<T> {
  const [error] = Value.Errors(schema, value)
  if (error === undefined) return value as Static<T>
  throw new TransferSettingsError(`${path}${error.path.replaceAll('/', '.')}: ${error.message}`)
}
