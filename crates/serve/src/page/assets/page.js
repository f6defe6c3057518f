// The page's scripts. Everything on the page can be read and used without them.

import './visit.js';
import './redraw.js';
import './live.js';
import './graph.js';
import './keys.js';
import './travel.js';
import './drop.js';
import './refresh.js';
