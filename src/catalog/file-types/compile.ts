import { RuleError } from '../../rating/rule-error.ts'
import type { FileType, FileTypeDefaults } from './file-type.ts'

export function compileFileType(
  document: unknown,
  _defaults: FileTypeDefaults,
  path: string,
): FileType {
  const fields = (document ?? {}) as Record<string, unknown>
  const name = fields['file_type']
  if (typeof name !== 'string') throw new RuleError(`${path}.file_type`, 'is missing')
  const parser = fields['parser'] as { type: 'json' } | undefined
  if (parser === undefined) throw new RuleError(`${path}.parser`, 'is missing')
  return { name, isEnabled: fields['enabled'] !== false, parser } as FileType
}
