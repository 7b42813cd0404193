struct Line {
    float factor;
    float offset;
};
