/** Texts of the page of settings and of the editor of a setting. */
export const SETTINGS = {
  'settings.categories': 'Categories',
  'settings.choose': 'Choose a category.',
  'settings.unknown': 'There is no category {name}.',
  'settings.tabs': 'Parts of {name}',
  'settings.value': 'Value',
  'settings.history': 'History',
  'settings.readOnly': 'It cannot be changed while the node runs: {instead}.',
  'settings.document': 'Value of {name} as JSON',
  'settings.clients': 'Clients are created and changed one by one, on the page of access.',
  'settings.effective': 'Effective value, with defaults and the configuration file',
  'settings.nothing': 'Nothing is stored: defaults apply.',
  'settings.rev': 'Version {rev}',
  'settings.save': 'Save',
  'settings.saved': '{name} is saved.',
  'settings.changes': 'What a save changes',
  'settings.noJson': 'This is not JSON: {reason}',
  'settings.inexact': '{number} has more digits than the server can store.',
  'settings.conflict':
    '{author} has saved version {rev} meanwhile ({time}). Nothing of yours is stored.',
  'settings.theirs': 'What the other has changed',
  'settings.conflictAbout':
    'Take the stored value and lose yours, or keep yours: the table of changes then shows what ' +
    'the next save undoes.',
  'settings.takeTheirs': 'Take the stored value',
  'settings.keepMine': 'Keep mine, compare with the stored value',
  'settings.noVersions': 'Nothing was ever stored.',
  'settings.version': 'Version',
  'settings.changed': 'Stored',
  'settings.author': 'By',
  'settings.compared': 'From version {rev} to the present version {present}',
  'settings.same': 'There is no difference.',
  'settings.restore': 'Restore version {rev}…',
  'settings.restoreTitle': 'Restore version {rev} of {name}',
  'settings.restoreAbout':
    'It is stored as a new version and takes effect at once. Version {present} stays in the ' +
    'history; secrets stay as they are.',
  'settings.restored': 'Version {rev} of {name} is restored.',
} as const
