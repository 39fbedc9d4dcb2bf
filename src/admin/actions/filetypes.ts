/** `filetypes`: the file types of the installation, built in and stored. */
import { Type } from '@sinclair/typebox'
import {
  choice,
  closed,
  flag,
  listOf,
  text,
  type ValueOf,
} from '../../catalog/entities/json-schema.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { fileTypeDefaultsOf } from '../../file-types/defaults.ts'
import { type InstalledFileType, installedFileTypes } from '../../file-types/installed.ts'
import { action } from './action.ts'
import { param } from './parameters.ts'

const PARSERS = ['json', 'xml', 'key_value', 'diameter', 'separator', 'fixed', 'ber'] as const

const FILE_TYPE = closed(
  'A file type.',
  {
    name: text('Its name; empty if the document has none.'),
    from: choice(['built_in', 'stored'], 'Where its document is.'),
    replaces: flag('Whether it is stored in place of a built-in one.'),
    state: choice(['enabled', 'disabled', 'unusable'], 'Whether messages can be sent.'),
    type: choice(['realtime', 'usage'], 'Messages, or records in files; absent if it is unusable.'),
    parser: choice(PARSERS, 'Syntax of its messages or records; absent if it is unusable.'),
    problem: closed('What is wrong with an unusable one.', {
      path: text('Path of the field.'),
      reason: text('Why.'),
    }),
  },
  ['type', 'parser', 'problem'],
)

export const filetypes = action({
  name: 'filetypes',
  level: 'read',
  about: 'List the file types, built in and stored, with their state',
  isReadByGet: true,
  parameters: Type.Object({
    name: param.optional(param.text('Only the one of this name.', { maxLength: 64 })),
  }),
  answer: {
    details: listOf(FILE_TYPE, 'By name. Plain JSON (`json`) has no document and is not listed.'),
  },
  example: {
    parameters: { name: 'GY' },
    answer: {
      details: [
        {
          name: 'GY',
          from: 'stored',
          replaces: false,
          state: 'enabled',
          type: 'realtime',
          parser: 'json',
        },
      ],
    },
  },
  async run({ name: requested }, { catalog, config }) {
    const { value } = await readCategory(catalog, 'file_types')
    const installed = installedFileTypes(value ?? [], fileTypeDefaultsOf(config))
    const listed = installed.filter(({ name }) => requested === undefined || name === requested)
    return { details: listed.map(viewOf) }
  },
})

function viewOf({
  name,
  origin,
  replaces,
  fileType,
  problem,
}: InstalledFileType): ValueOf<typeof FILE_TYPE> {
  const state = fileType?.isEnabled ? 'enabled' : 'disabled'
  return {
    name,
    from: origin === 'builtIn' ? 'built_in' : 'stored',
    replaces,
    state: problem === null ? state : 'unusable',
    ...(fileType !== null && { type: fileType.type, parser: fileType.parser.type }),
    ...(problem !== null && { problem: { path: problem.path, reason: problem.reason } }),
  }
}
