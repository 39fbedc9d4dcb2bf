/** Parameters and envelopes that operations share. */
import {
  anyValue,
  choice,
  customFields,
  flag,
  integer,
  listOf,
  mapOf,
  nothing,
  object,
  orNull,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import { IF_MATCH_LENGTH_MAX, IF_MATCH_PATTERN } from '../../entities/requests/versions.ts'
import { DONE, VALID } from '../http/answer-schema.ts'

/** OpenAPI components. */
export const COMMON_SCHEMAS: Readonly<Record<string, Schema>> = {
  listChange: object(
    'Members of a field that is a list.',
    {
      field_name: text('Name of the field.'),
      field_values: listOf(anyValue('A member.'), 'Members to append or to remove.'),
      pull_by_key: text('For `pull_fields`: the part of a member to compare.'),
    },
    ['field_name', 'field_values'],
  ),
  options: {
    ...object('Further options.', {
      or_fields: listOf(
        text('Name of a field.'),
        'Fields of `query` of which one match is sufficient.',
      ),
      push_fields: listOf(ref('listChange'), 'Members to append to list fields.'),
      pull_fields: listOf(ref('listChange'), 'Members to remove from list fields.'),
      headers: flag('For exports: whether the first row has the column names; true by default.'),
      delimiter: text('For exports: the character between cells.'),
    }),
    additionalProperties: false,
  },
  importAnswer: object(
    'Results of the rows.',
    {
      status: {
        type: 'integer',
        enum: [1, 2],
        description: '1: all rows were imported; 2: some failed.',
      },
      details: mapOf(
        { type: ['boolean', 'string'], description: 'True, or why the row failed.' },
        'By line of the file; the header is line 1.',
      ),
      warnings: listOf(text('A warning.'), 'The number of failed rows, and ignored fields.'),
      total: integer('Rows of the file.'),
      succeeded: integer('Rows that were imported.'),
      failed: integer('Rows that failed.'),
      import_id: text('Id with which the import can be resumed.'),
      dry_run: flag('True if nothing was written.'),
    },
    ['status', 'details', 'total', 'succeeded', 'failed'],
  ),
  importProgress: object(
    'Progress of an import; the response to `progress`.',
    {
      status: DONE,
      details: object(
        'The import.',
        {
          import_id: text('Id of the import.'),
          collection: text('Name of the collection.'),
          operation: text('`create` or `permanentchange`.'),
          file_name: text('Name of the file.'),
          state: choice(['running', 'stopped', 'done'], '`stopped`: it can be resumed.'),
          total: integer('Rows of the file.'),
          done: integer('Rows that were processed.'),
          failed: integer('Rows that were not imported.'),
          failures: mapOf(text('Why.'), 'Error by row.'),
          started: ref('dateParts', 'Start of the import.'),
          changed: ref('dateParts', 'Time of the last update.'),
        },
        ['import_id', 'collection', 'state', 'total', 'done', 'failed'],
      ),
    },
    ['status', 'details'],
  ),
}

/** The member `warnings` of answers. */
export const WARNINGS = listOf(
  text('A warning.'),
  'Ignored parameters and fields with the name that was probably meant; problems to check.',
)

/** Response to a read of documents with this schema. */
export function readAnswer(entity: Schema): Schema {
  return object(
    'The matching documents.',
    {
      status: DONE,
      next_page: flag('Whether there are more rows.'),
      details: listOf(entity, 'The rows of the page.'),
      warnings: WARNINGS,
    },
    ['status', 'next_page', 'details'],
  )
}

/** Response to a write. */
export function writeAnswer(entity: Schema, more: Readonly<Record<string, Schema>> = {}): Schema {
  return object(
    'Result of the write.',
    {
      status: DONE,
      details: {
        type: ['boolean', 'null'],
        description: 'True or null: success; false: there was nothing to do.',
      },
      entity: orNull(entity, 'The document after the write.'),
      warnings: WARNINGS,
      valid: VALID,
      ...more,
    },
    ['status', 'details', 'entity'],
  )
}

export const NOTHING = nothing('None.')

/**
 * Parameters other than `query` and `update`, by name; the same in the query string and in bodies.
 */
const OPTION_SCHEMAS: Readonly<Record<string, Schema>> = {
  page: integer('Number of the page, counted from 0; 0 by default.', { minimum: 0 }),
  size: integer('Rows per page; 0 or less: the maximum.'),
  sort: mapOf(
    { type: 'integer', enum: [1, -1], description: '1 ascending, -1 descending.' },
    'Sort order of the rows, by field.',
  ),
  project: mapOf(
    { type: ['integer', 'boolean'], enum: [0, 1, false, true], description: 'Include or exclude.' },
    'Fields to return; `revision_info` has the actions that are allowed on a revision.',
  ),
  states: listOf(
    { type: 'integer', enum: [0, 1, 2], description: '0 active, 1 future, 2 expired.' },
    'States of the revisions to return; active and future by default.',
  ),
  additional: customFields('Stored in the line of the change.'),
  file_name: text('Name of the downloaded file, without the extension.'),
  delimiter: text('Character between cells; a comma by default.'),
  format: choice(['csv', 'jsonl'], '`csv`, or JSON lines.'),
  validate: flag('True: the write is only tried, nothing is stored; all invalid fields are named.'),
}

/** Schema of a parameter other than `query` and `update`; `options` is a component. */
export function optionSchema(name: string): Schema {
  return name === 'options' ? ref('options', 'Further options.') : (OPTION_SCHEMAS[name] ?? {})
}

export const IF_MATCH: Schema = {
  name: 'If-Match',
  in: 'header',
  schema: text('`*`, or versions in double quotes, separated by commas.', {
    pattern: IF_MATCH_PATTERN,
    maxLength: IF_MATCH_LENGTH_MAX,
  }),
  description:
    'The version that the revision must have, as in `ETag` and `revision_info.version` of a read.',
  example: '"65f0c0ffee0123456789abcd.12"',
}

/** Header of responses with one revision. */
export const ENTITY_TAG: Schema = {
  ETag: {
    description: 'Version of the revision, if the response has exactly one.',
    schema: text('The version in double quotes.'),
  },
}

export function idempotencyKeySchema(lengthMax: number): Schema {
  return {
    name: 'Idempotency-Key',
    in: 'header',
    schema: text(`1 to ${lengthMax} visible characters.`, { pattern: `^[!-~]{1,${lengthMax}}$` }),
    description: 'Id of the operation: repeating it changes nothing and returns the first result.',
    example: 'top-up-4711',
  }
}
