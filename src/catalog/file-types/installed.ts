/** The file types that an installation has: those that come with it, and those that are stored. */
import { RuleError } from '../../rating/rule-error.ts'
import { isObject } from '../../rating/rule-fields.ts'
import { builtInFileTypes, PLAIN_JSON } from './built-in.ts'
import { compileFileType } from './compile.ts'
import type { FileType, FileTypeDefaults } from './file-type.ts'

export interface InstalledFileType {
  /** Empty if the document has none. */
  readonly name: string
  readonly origin: 'builtIn' | 'stored'
  /** Whether it stands in the place of a built-in one. */
  readonly replaces: boolean
  readonly document: unknown
  /** Null: it cannot be used, and `problem` says why. */
  readonly fileType: FileType | null
  readonly problem: { readonly path: string; readonly reason: string } | null
}

/**
 * All but the plain JSON dialect, in the order of their names. Never throws. A stored file type
 * that cannot be used does not bring back the built-in one of its name: that is another format.
 */
export function installedFileTypes(
  stored: unknown,
  defaults: FileTypeDefaults,
): InstalledFileType[] {
  const builtIn = builtInFileTypes()
  const installed: InstalledFileType[] = []
  const taken = new Set<string>()
  if (!Array.isArray(stored)) {
    const problem = { path: 'file_types', reason: 'must be a list' }
    const nothing = { name: '', document: stored, fileType: null }
    installed.push({ ...nothing, origin: 'stored', replaces: false, problem })
  }
  for (const [index, document] of (Array.isArray(stored) ? stored : []).entries()) {
    const path = `file_types.${index}`
    const name = nameOfFileType(document)
    const isTwice = taken.has(name)
    const compiled = isTwice
      ? { fileType: null, problem: { path: `${path}.file_type`, reason: 'is there twice' } }
      : compiledOrNot(() => checkedFileType(document, defaults, path))
    const replaces = builtIn.has(name)
    installed.push({ name, origin: 'stored', replaces, document, ...compiled })
    if (name !== '') taken.add(name)
  }
  for (const [name, document] of builtIn) {
    if (taken.has(name)) continue
    const compiled = compiledOrNot(() => compileFileType(document, defaults, name))
    installed.push({ name, origin: 'builtIn', replaces: false, document, ...compiled })
  }
  return installed.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
}

/** A file type that may be stored. Throws `RuleError`, whose path begins with `path`. */
export function checkedFileType(
  document: unknown,
  defaults: FileTypeDefaults,
  path: string,
): FileType {
  const fileType = compileFileType(document, defaults, path)
  if (fileType.name !== PLAIN_JSON) return fileType
  throw new RuleError(`${path}.file_type`, `'${PLAIN_JSON}' is built in, and cannot be replaced`)
}

/** Name of a document, of which nothing else need be right; empty if it has none. */
export function nameOfFileType(document: unknown): string {
  const name = isObject(document) ? document['file_type'] : undefined
  return typeof name === 'string' ? name : ''
}

function compiledOrNot(compile: () => FileType): Pick<InstalledFileType, 'fileType' | 'problem'> {
  try {
    return { fileType: compile(), problem: null }
  } catch (error) {
    if (!(error instanceof RuleError)) throw error
    return { fileType: null, problem: { path: error.path, reason: error.reason } }
  }
}
