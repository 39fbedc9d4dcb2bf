/** Parameters and envelopes that operations share. */
import {
  anyValue,
  choice,
  flag,
  integer,
  listOf,
  mapOf,
  object,
  ref,
  type Schema,
  text,
} from './schema.ts'

const DONE: Schema = { type: 'integer', const: 1, description: '1: it was done.' }

/** OpenAPI components. */
export const COMMON_SCHEMAS: Readonly<Record<string, Schema>> = {
  listChange: object(
    'Members of a field that is a list.',
    {
      field_name: text('Name of the field.'),
      field_values: listOf(anyValue('A member.'), 'Members to append, or to take away.'),
      pull_by_key: text('Of `pull_fields`: the part of a member that is compared.'),
    },
    ['field_name', 'field_values'],
  ),
  options: {
    ...object('Further wishes.', {
      or_fields: listOf(text('Name of a field.'), 'Fields of `query` of which one is enough.'),
      push_fields: listOf(ref('listChange'), 'Members to append to fields that are lists.'),
      pull_fields: listOf(ref('listChange'), 'Members to take away.'),
      headers: flag('Of an export: whether it begins with names; true if it is left out.'),
      delimiter: text('Of an export: one character between cells.'),
    }),
    additionalProperties: false,
  },
  importAnswer: object(
    'What became of the rows.',
    {
      status: { type: 'integer', enum: [1, 2], description: '1: all rows; 2: not all of them.' },
      details: mapOf(
        { type: ['boolean', 'string'], description: 'True, or why the row failed.' },
        'By line of the file, the header being 1.',
      ),
      warnings: listOf(text('A warning.'), 'How many rows failed, and fields that are ignored.'),
      total: integer('Rows of the file.'),
      succeeded: integer('Rows that were imported.'),
      failed: integer('Rows that were not.'),
      import_id: text('Name by which the import goes on.'),
      dry_run: flag('True: nothing was written.'),
    },
    ['status', 'details', 'total', 'succeeded', 'failed'],
  ),
  importProgress: object(
    'How far an import has come; the answer to `progress`.',
    {
      status: DONE,
      details: object(
        'The import.',
        {
          import_id: text('Its name.'),
          collection: text('Name of the collection.'),
          operation: text('`create` or `permanentchange`.'),
          file_name: text('Name of the file.'),
          state: choice(['running', 'stopped', 'done'], '`stopped`: it can go on.'),
          total: integer('Rows of the file.'),
          done: integer('Rows that were looked at.'),
          failed: integer('Rows that were not imported.'),
          failures: mapOf(text('Why.'), 'By row why it failed.'),
          started: ref('dateParts', 'When it began.'),
          changed: ref('dateParts', 'When it came this far.'),
        },
        ['import_id', 'collection', 'state', 'total', 'done', 'failed'],
      ),
    },
    ['status', 'details'],
  ),
}

/** Response to a read of documents with this schema. */
export function readAnswer(entity: Schema): Schema {
  return object(
    'The documents that were found.',
    {
      status: DONE,
      next_page: flag('Whether there are more rows.'),
      details: listOf(entity, 'The rows of the page.'),
    },
    ['status', 'next_page', 'details'],
  )
}

/** Response to a write. */
export function writeAnswer(entity: Schema, more: Readonly<Record<string, Schema>> = {}): Schema {
  return object(
    'What was done.',
    {
      status: DONE,
      details: {
        type: ['boolean', 'null'],
        description: 'True or null: it was done; false: there was nothing to do.',
      },
      entity: { description: 'The document after it.', anyOf: [entity, NOTHING] },
      warnings: listOf(text('A warning.'), 'Fields that were ignored, and what to look after.'),
      ...more,
    },
    ['status', 'details', 'entity'],
  )
}

export const NOTHING: Schema = { type: 'null', description: 'There is none.' }

/**
 * Parameters other than `query` and `update`, by name; the same in the query string and in bodies.
 */
const OPTION_SCHEMAS: Readonly<Record<string, Schema>> = {
  page: integer('Number of the page, from 0, which it is if left out.', { minimum: 0 }),
  size: integer('Rows of a page; 0 or below: as many as are allowed.'),
  sort: mapOf(
    { type: 'integer', enum: [1, -1], description: '1 ascending, -1 descending.' },
    'Order of the rows, by field.',
  ),
  project: mapOf(
    { type: ['integer', 'boolean'], enum: [0, 1, false, true], description: 'Show, or leave out.' },
    'Fields to show; `revision_info` tells what may be done with a revision.',
  ),
  states: listOf(
    { type: 'integer', enum: [0, 1, 2], description: '0 active, 1 future, 2 expired.' },
    'States of the revisions that are wanted; active and future ones if it is left out.',
  ),
  additional: mapOf(anyValue('A value.'), 'Kept on the line of the change.'),
  file_name: text('Name of the download, without its ending.'),
  delimiter: text('One character between cells; a comma if it is left out.'),
  format: choice(['csv', 'jsonl'], '`csv`, or lines of JSON.'),
}

/** Schema of a parameter other than `query` and `update`; `options` is a component. */
export function optionSchema(name: string): Schema {
  return name === 'options' ? ref('options', 'Further wishes.') : (OPTION_SCHEMAS[name] ?? {})
}

export const IDEMPOTENCY_KEY: Schema = {
  name: 'Idempotency-Key',
  in: 'header',
  schema: text('1 to 128 visible characters.', { pattern: '^[!-~]{1,128}$' }),
  description: 'Id of the operation: the same again moves nothing, and shows what was done.',
  example: 'top-up-4711',
}
