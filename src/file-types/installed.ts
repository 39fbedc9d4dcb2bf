/** The file types of an installation: built-in and stored ones. */
import { FieldError, isObject } from '../domain/fields.ts'
import { builtInFileTypes, PLAIN_JSON } from './built-in.ts'
import { compileFileType } from './compile.ts'
import type { FileType, FileTypeDefaults } from './file-type.ts'
import { compileRecordFileType, isRecordDocument } from './records/compile.ts'
import type { RecordFileType } from './records/record-files.ts'

/** A file type of messages or of records. */
export type AnyFileType = FileType | RecordFileType

/** The compiled file type, or the problem of its document. */
export type CompiledFileType =
  | { readonly fileType: AnyFileType; readonly problem: null }
  | { readonly fileType: null; readonly problem: { path: string; reason: string } }

export type InstalledFileType = CompiledFileType & {
  /** Empty if the document has no name. */
  readonly name: string
  readonly origin: 'builtIn' | 'stored'
  /** Whether it replaces a built-in one. */
  readonly replaces: boolean
  readonly document: unknown
}

/**
 * All file types except plain JSON, by name. Never throws. An unusable stored file type does not
 * reactivate the built-in one of its name, which is another format.
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
  const documents: readonly unknown[] = Array.isArray(stored) ? stored : []
  for (const [index, document] of documents.entries()) {
    const path = pathOfFileType(document, index)
    const name = nameOfFileType(document)
    const isTaken = documents.slice(index + 1).some((later) => nameOfFileType(later) === name)
    const compiled: CompiledFileType = isTaken
      ? { fileType: null, problem: { path, reason: 'is repeated: the later one is used' } }
      : tryCompile(() => checkedFileType(document, defaults, path))
    const replaces = builtIn.has(name)
    installed.push({ name, origin: 'stored', replaces, document, ...compiled })
    taken.add(name)
  }
  for (const [name, document] of builtIn) {
    if (taken.has(name)) continue
    const compiled = tryCompile(() => compileFileType(document, defaults, `built in ${name}`))
    installed.push({ name, origin: 'builtIn', replaces: false, document, ...compiled })
  }
  return installed.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
}

const USABLE_NAME = /^\w{1,64}$/

/** Path of a document in errors: by its name, or by its index if the name is unusable. */
export function pathOfFileType(document: unknown, index: number): string {
  const name = nameOfFileType(document)
  return `file_types.${USABLE_NAME.test(name) ? name : index}`
}

/** Compiles a file type; returns the problem if the document cannot be used. */
export function fileTypeOrProblem(document: unknown, defaults: FileTypeDefaults): CompiledFileType {
  return tryCompile(() => checkedFileType(document, defaults, pathOfFileType(document, 0)))
}

/** Compiles a file type that is to be stored. Throws `FieldError` with a path below `path`. */
export function checkedFileType(
  document: unknown,
  defaults: FileTypeDefaults,
  path: string,
): AnyFileType {
  const compile = isRecordDocument(document) ? compileRecordFileType : compileFileType
  const fileType = compile(document, defaults, path)
  if (fileType.name !== PLAIN_JSON) return fileType
  throw new FieldError(`${path}.file_type`, `'${PLAIN_JSON}' is built in, and cannot be replaced`)
}

/** Name in a document that may otherwise be invalid; empty if it has none. */
export function nameOfFileType(document: unknown): string {
  const name = isObject(document) ? document['file_type'] : undefined
  return typeof name === 'string' ? name : ''
}

function tryCompile(compile: () => AnyFileType): CompiledFileType {
  try {
    return { fileType: compile(), problem: null }
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    return { fileType: null, problem: { path: error.path, reason: error.reason } }
  }
}
