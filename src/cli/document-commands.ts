/** Commands for stored documents: file types, fields, entities. */
import {
  type CommandSpec,
  common,
  documentFile,
  json,
  nameOf,
  type OperandSpec,
  text,
  toggle,
} from './command-spec.ts'

export const FILE_TYPE_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'filetype set',
    help: 'Create or replace file types; all processes apply them within catalog.pollMs.',
    operands: [documentFile('a document, a list of documents, or either under file_types')],
    options: common,
    run: async ({ shell, operands }) =>
      (await import('./filetype.ts')).setFileTypes(shell, operands.FILE),
  },
  {
    name: 'filetype list',
    help: 'Show all file types and whether each can be used.',
    isReading: true,
    options: { json, ...common },
    run: async ({ shell, options }) =>
      (await import('./filetype.ts')).listFileTypes(shell, options),
  },
  {
    name: 'filetype show',
    help: 'Show the document of a file type, in YAML.',
    isReading: true,
    operands: [nameOf('file type')],
    options: { json, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./filetype.ts')).showFileType(shell, operands.NAME, options),
  },
  {
    name: 'filetype remove',
    help: 'Remove a stored file type; a built-in one of its name applies again.',
    operands: [nameOf('file type')],
    options: common,
    run: async ({ shell, operands }) =>
      (await import('./filetype.ts')).removeFileType(shell, operands.NAME),
  },
  {
    name: 'filetype check',
    help: 'Decode a message by a document and show each step, or check saved samples.',
    isReading: true,
    operands: [documentFile('a document; with --samples also the name of a file type')],
    options: {
      sample: text('BODY', 'file with the bytes of a message; no store is needed'),
      samples: toggle('check all samples of the document, or those stored for its name'),
      json,
      ...common,
    },
    run: async ({ shell, operands, options, tools }) =>
      (await import('./filetype-check.ts')).checkFileType(shell, operands.FILE, options, tools),
  },
]

const collection: OperandSpec = {
  name: 'COLLECTION',
  help: 'accounts, subscribers, plans, services, rates, charges, discounts, ...',
}

export const FIELD_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'field list',
    help: 'Show the fields of a collection: configured and default ones.',
    isReading: true,
    operands: [collection],
    options: { json, ...common },
    run: async ({ shell, operands, options }) =>
      (await import('./field.ts')).listFields(shell, operands.COLLECTION, options),
  },
  {
    name: 'field set',
    help: 'Create or replace configured fields; the entity API applies them immediately.',
    operands: [collection, documentFile('a field, a list of fields, or either under fields')],
    options: common,
    run: async ({ shell, operands }) =>
      (await import('./field.ts')).setFields(shell, operands.COLLECTION, operands.FILE),
  },
  {
    name: 'field remove',
    help: 'Remove a configured field; a default field of its name applies again.',
    operands: [collection, nameOf('field')],
    options: common,
    run: async ({ shell, operands }) =>
      (await import('./field.ts')).removeField(shell, operands.COLLECTION, operands.NAME),
  },
]

export const ENTITY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'import',
    help: 'Create or change entities from the rows of a file (CSV, or lines of JSON).',
    operands: [
      {
        name: 'COLLECTION',
        help: 'accounts, subscribers, plans, services, rates, discounts, cards, lines',
      },
      { name: 'FILE', help: 'CSV, or .jsonl with an update (or a card, a line) on each line' },
    ],
    options: {
      operation: text('O', 'create, or permanentchange for rates; create if not given'),
      settings: text('FILE', 'map etc. (JSON or YAML); columns as in an export if not given'),
      migrate: toggle('rows are documents of the system that is replaced: keep them as they are'),
      'dry-run': toggle('check every row, and write nothing'),
      resume: text('ID', 'continue an interrupted import'),
      failed: text('FILE', 'file for all failed rows, as lines of JSON'),
      json,
      ...common,
    },
    run: async ({ shell, operands, options }) =>
      (await import('./import.ts')).importFile(shell, operands.COLLECTION, operands.FILE, options),
  },
  {
    name: 'export',
    help: 'Write entities as CSV or lines of JSON, one revision each.',
    isReading: true,
    operands: [collection],
    options: {
      query: text('JSON', 'filter as in the entity API; all if not given'),
      states: text('JSON', 'list of 0 active, 1 future, 2 expired; [0,1] if not given'),
      format: text('F', 'csv or jsonl; csv if not given'),
      delimiter: text('C', 'between the cells of CSV; a comma if not given'),
      output: text('FILE', 'output file; standard output if not given'),
      ...common,
    },
    run: async ({ shell, operands, options }) =>
      (await import('./export.ts')).exportFile(shell, operands.COLLECTION, options),
  },
]
