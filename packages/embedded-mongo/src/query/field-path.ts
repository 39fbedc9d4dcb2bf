import { MongoCommandError } from '../errors.ts'

/**
 * Splits a dotted path of a sort, a projection or an expression.
 * @throws CommandError for empty names, and for names that begin with `$`
 */
export function fieldPath(path: string): string[] {
  if (path === '') {
    throw new MongoCommandError(
      'Location40352',
      'FieldPath cannot be constructed with empty string',
    )
  }
  if (path.endsWith('.')) {
    throw new MongoCommandError('Location40353', "FieldPath must not end with a '.'.")
  }
  const parts = path.split('.')
  for (const part of parts) {
    if (part === '') {
      throw new MongoCommandError(
        'Location15998',
        'FieldPath field names may not be empty strings.',
      )
    }
    if (part.startsWith('$')) {
      throw new MongoCommandError(
        'Location16410',
        `FieldPath field names may not start with '$'. Consider using $getField: ${path}`,
      )
    }
  }
  return parts
}
