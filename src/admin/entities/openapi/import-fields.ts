/** Settings and other parameters of an import (`../import`). */
import { anyValue, choice, flag, listOf, mapOf, object, ref, type Schema, text } from './schema.ts'

/** OpenAPI components. */
export const IMPORT_COMPOUNDS: Readonly<Record<string, Schema>> = {
  importLink: object(
    'A field, and the column that has its value.',
    {
      field: text('Name of the field.'),
      value: text('`__csvindex__N` with the number of a column from 0; of JSON its name.'),
    },
    ['field', 'value'],
  ),
  importField: object(
    'How a field is read.',
    {
      value: text('Name of the field.'),
      type: text('`ranges` reads texts such as `1-5,10-12`.'),
      multiple: flag('Whether a cell is a list with commas.'),
    },
    ['value'],
  ),
}

/** Fields in `update` of an import. */
export const IMPORT_FIELDS: Readonly<Record<string, Schema>> = {
  importType: choice(
    ['manual_mapping', 'predefined_mapping'],
    '`predefined_mapping`: the columns are those of an export.',
  ),
  delimiter: text('One character between the cells; a comma if it is left out.'),
  map: mapOf(
    text('`__csvindex__N`, or a text that all rows have.'),
    'By field the column that it comes from.',
  ),
  import_fields: listOf(ref('importField'), 'How some fields are read.'),
  default_values: mapOf(anyValue('A value.'), 'Values that rows may leave out.'),
  predefined_values: mapOf(anyValue('A value.'), 'Values that all rows have, whatever they say.'),
  linker: ref('importLink', 'Of subscribers: how the account is found.'),
  updater: ref('importLink', 'Of `permanentchange`: how the entity is found.'),
  multi_field_action: mapOf(
    choice(['append', 'remove', 'replace'], 'What the values of the row do.'),
    'By field what is done with a list that is there.',
  ),
  format: choice(['csv', 'jsonl'], 'By the name of the file if it is left out.'),
  dry_run: flag('Whether everything is checked and nothing is written.'),
}

/** Parameters other than `update`. */
export const IMPORT_OPTIONS: Readonly<Record<string, Schema>> = {
  'files[0]': text('The rows: CSV with a line of names, or lines of JSON.', { format: 'binary' }),
  import_id: text('Name by which an import goes on; made up if it is left out.', {
    pattern: '^[A-Za-z0-9_.-]{1,64}$',
  }),
  dry_run: choice(['0', '1'], '1: everything is checked and nothing is written.'),
  progress: choice(['0', '1'], '1, without a file: how far the import with this id has come.'),
}
