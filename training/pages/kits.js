// UI kits: their files, their split, and their own markup for the controls they have. Missing controls are drawn
// (drawn.js) in a look of the same split. A kit belongs to exactly one split.
//
// Reading `o.dis`, `o.foc` or calling `o.offClass` declares that the control shows that it is disabled or focused: only
// states that are read are written into the labels. states.test.js verifies this.

import { kits as components } from './kits/components.js';
import { kits as test } from './kits/test.js';
import { kits as train } from './kits/train.js';
import { kits as validation } from './kits/validation.js';

/** `css`: files; `dark`, `darkCss`, `darkClass`: how to make it dark; `light`: it has no dark mode; `root`:
 * attributes of the root; `looks`: fallback looks, if not every look of its split fits; `hides`: states that its
 * controls have but do not show; `share`: relative frequency, default 1. */
export const kits = { ...train, ...components, ...validation, ...test };

/** Icon sets: a folder of SVG files, of a package or of the system. Coloured sets are shown as images. */
const colours = (split, folder, licence) => ({ split, folder, colours: true, licence });
const lines = (split, folder) => ({ split, folder });
export const iconSets = {
  lucide: lines('train', 'lucide-static/icons'),
  bootstrap: lines('train', 'bootstrap-icons/icons'),
  mdi: lines('train', '@mdi/svg/svg'),
  tabler: lines('train', '@tabler/icons/icons/outline'),
  fontawesome: lines('train', '@fortawesome/fontawesome-free/svgs/solid'),
  codicons: lines('train', '@vscode/codicons/src/icons'),
  octicons: lines('train', '@primer/octicons/build/svg'),
  heroicons: lines('train', 'heroicons/24/outline'),
  ionicons: lines('train', 'ionicons/dist/svg'),
  'flat-color': colours('train', 'flat-color-icons/svg'),
  'material-files': colours('train', 'material-icon-theme/icons'),
  'tango-actions': colours('train', '/usr/share/icons/Tango/scalable/actions', 'public domain (tango-icon-theme)'),
  'tango-apps': colours('train', '/usr/share/icons/Tango/scalable/apps', 'public domain (tango-icon-theme)'),
  'tango-places': colours('train', '/usr/share/icons/Tango/scalable/places', 'public domain (tango-icon-theme)'),
  phosphor: lines('validation', '@phosphor-icons/core/assets/regular'),
  carbon: lines('validation', '@carbon/icons/svg/32'),
  oxygen: colours('validation', '/usr/share/icons/oxygen/base/32x32/actions', 'LGPL-3 (oxygen-icon-theme)'),
  'remix-system': lines('test', 'remixicon/icons/System'),
  'remix-document': lines('test', 'remixicon/icons/Document'),
  eva: lines('test', 'eva-icons/outline/svg'),
  'breeze-actions': colours('test', '/usr/share/icons/breeze/actions/22', 'LGPL-3 (breeze-icon-theme)'),
  'breeze-places': colours('test', '/usr/share/icons/breeze/places/64', 'LGPL-3 (breeze-icon-theme)'),
};

const font = (split, use, file) => ({ split, use, file });
/** Fonts for text, for code, and for scripts that those lack. `file`: style sheet; without it, a system font. */
export const fonts = {
  'DejaVu Sans': font('train', 'words'),
  'Liberation Sans': font('train', 'words'),
  'Nimbus Sans': font('train', 'words'),
  'Liberation Serif': font('train', 'words'),
  Inter: font('train', 'words', '@fontsource/inter/index.css'),
  Roboto: font('train', 'words', '@fontsource/roboto/index.css'),
  'Open Sans': font('train', 'words', '@fontsource/open-sans/index.css'),
  Cantarell: font('train', 'words', '@fontsource/cantarell/index.css'),
  Lato: font('train', 'words', '@fontsource/lato/index.css'),
  'IBM Plex Sans': font('train', 'words', '@fontsource/ibm-plex-sans/index.css'),
  Poppins: font('train', 'words', '@fontsource/poppins/index.css'),
  Merriweather: font('train', 'words', '@fontsource/merriweather/index.css'),
  'DejaVu Sans Mono': font('train', 'code'),
  'Liberation Mono': font('train', 'code'),
  'JetBrains Mono': font('train', 'code', '@fontsource/jetbrains-mono/index.css'),
  'Noto Sans CJK SC': font('train', 'chinese'),
  'Noto Sans Arabic': font('train', 'arabic', '@fontsource/noto-sans-arabic/index.css'),
  'Source Sans 3': font('validation', 'words', '@fontsource/source-sans-3/index.css'),
  'DejaVu Serif': font('validation', 'words'),
  'Fira Sans': font('validation', 'words', '@fontsource/fira-sans/index.css'),
  'Source Code Pro': font('validation', 'code', '@fontsource/source-code-pro/index.css'),
  'WenQuanYi Zen Hei': font('validation', 'chinese'),
  Vazirmatn: font('validation', 'arabic', '@fontsource/vazirmatn/index.css'),
  Ubuntu: font('test', 'words', '@fontsource/ubuntu/index.css'),
  'URW Gothic': font('test', 'words'),
  'Work Sans': font('test', 'words', '@fontsource/work-sans/index.css'),
  'Ubuntu Mono': font('test', 'code', '@fontsource/ubuntu-mono/index.css'),
  'WenQuanYi Micro Hei': font('test', 'chinese'),
  Cairo: font('test', 'arabic', '@fontsource/cairo/index.css'),
};
